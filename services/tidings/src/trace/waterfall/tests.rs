use super::*;

fn span(id: &str, parent: Option<&str>, start: u64, name: &str) -> Value {
    let references: Vec<Value> = parent
        .into_iter()
        .map(|parent| json!({"refType": "CHILD_OF", "traceID": "t", "spanID": parent}))
        .collect();
    json!({"traceID": "t", "spanID": id, "operationName": name, "references": references,
        "startTime": start, "duration": 1_500, "processID": "p1",
        "tags": [{"key": "error", "type": "bool", "value": id == "bad"}, {"key": "error.type", "value": "503"}]})
}

fn waterfall(spans: Vec<Value>, create: &str) -> Waterfall {
    let trace =
        json!({"traceID": "t", "spans": spans, "processes": {"p1": {"serviceName": "relay"}}});
    Waterfall::of(serde_json::from_value(trace).unwrap(), create)
}

#[test]
fn spans_stand_under_their_parents_in_the_order_of_time() {
    let shown = waterfall(
        vec![
            span("settle", Some("process"), 40, "settle"),
            span("bad", Some("process"), 30, "POST /x"),
            span("process", Some("create"), 20, "process q"),
            span("send", Some("create"), 10, "send"),
            span("create", None, 0, "create"),
        ],
        "create",
    );
    let names: Vec<_> = shown
        .rows
        .iter()
        .map(|row| (row.depth, row.span.operation_name.as_str()))
        .collect();
    assert_eq!(
        names,
        [
            (0, "create"),
            (1, "send"),
            (1, "process q"),
            (2, "POST /x"),
            (2, "settle")
        ]
    );
    assert!(shown.has_settled());
    let text = shown.text();
    assert!(text.contains("    POST /x"), "{text}");
    assert!(
        text.contains("ERROR 503") && text.contains("1.500 ms"),
        "{text}"
    );
    assert_eq!(shown.json_lines().count(), 5);
}

#[test]
fn of_a_trace_with_many_messages_only_this_one_is_shown() {
    let shown = waterfall(
        vec![
            span("request", None, 0, "POST /orders"),
            span("create", Some("request"), 1, "create"),
            span("other", Some("request"), 1, "create another"),
            span("process", Some("create"), 2, "process q"),
        ],
        "create",
    );
    let names: Vec<_> = shown
        .rows
        .iter()
        .map(|row| row.span.operation_name.as_str())
        .collect();
    assert_eq!(names, ["POST /orders", "create", "process q"]);
}

#[test]
fn a_parent_that_jaeger_does_not_have_hides_nothing() {
    let shown = waterfall(
        vec![
            span("create", Some("upstream"), 0, "create"),
            span("send", Some("create"), 1, "send"),
        ],
        "create",
    );
    let depths: Vec<_> = shown.rows.iter().map(|row| row.depth).collect();
    assert_eq!(depths, [0, 1]);
}

#[test]
fn a_circle_of_parents_ends() {
    let shown = waterfall(
        vec![
            span("a", Some("b"), 0, "a"),
            span("b", Some("a"), 0, "b"),
            span("c", None, 0, "c"),
        ],
        "a",
    );
    assert!(shown.rows.len() <= 3);
}
