//! Old versions of event types as new ones (design §5): functions over the decoded data, beside the type.
//!
//! Total: what a version's schema allows, its upcaster takes. They see data only, so identity, times and version
//! cannot change; and decimals are exact texts here, which are moved and never parsed.

mod order_confirmed;

use serde_json::{Map, Value as Json};

/// A data object's fields by name.
type Fields = Map<String, Json>;

/// One step, from a version to the next.
#[derive(Debug)]
pub(crate) struct Upcaster {
    event_type: &'static str,
    from: i32,
    /// Fields of the old version that the new one lacks.
    removes: &'static [&'static str],
    /// Fields of the new version that the old one lacks.
    adds: &'static [&'static str],
    apply: fn(&mut Fields),
}

/// Every step there is.
const ALL: &[Upcaster] = &[order_confirmed::V1_TO_V2];

/// The steps from a version to a later one, in order; `None` if one is missing.
pub(crate) fn chain(event_type: &str, from: i32, to: i32) -> Option<Vec<&'static Upcaster>> {
    let step = |version| {
        ALL.iter()
            .find(|step| step.event_type == event_type && step.from == version)
    };
    // Bounded by the steps that exist, whatever `to` says.
    let steps: Vec<_> = (from..to).map_while(step).collect();
    let reached = i64::from(from) + i64::try_from(steps.len()).ok()?;
    (from < to && reached == i64::from(to)).then_some(steps)
}

/// The names that data with these fields has after the steps; the error is a field that a step needs.
pub(crate) fn fields_after(
    steps: &[&Upcaster],
    fields: impl IntoIterator<Item = String>,
) -> Result<Vec<String>, &'static str> {
    let mut fields: Vec<String> = fields.into_iter().collect();
    for step in steps {
        for name in step.removes {
            let known = fields.len();
            fields.retain(|field| field != name);
            if fields.len() == known {
                return Err(name);
            }
        }
        fields.extend(step.adds.iter().map(|&name| name.to_owned()));
    }
    Ok(fields)
}

/// The data after the steps.
pub(crate) fn apply(steps: &[&Upcaster], data: &Json) -> Json {
    let mut data = data.clone();
    if let Json::Object(fields) = &mut data {
        for step in steps {
            (step.apply)(fields);
        }
    }
    data
}

/// Takes a field out; null if it is not there.
fn take(fields: &mut Fields, name: &str) -> Json {
    fields.remove(name).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_chain_has_every_step_or_is_none() {
        assert_eq!(chain("order.confirmed", 1, 2).unwrap().len(), 1);
        assert!(chain("order.confirmed", 1, 3).is_none());
        assert!(chain("order.confirmed", 2, 2).is_none());
        assert!(chain("order.confirmed", 2, 1).is_none());
        assert!(chain("order.shipped", 1, 2).is_none());
        assert!(chain("order.confirmed", i32::MIN, i32::MAX).is_none());
    }

    #[test]
    fn digits_are_moved_as_they_are() {
        let steps = chain("order.confirmed", 1, 2).unwrap();
        let old = json!({"order_id": "A", "amount": "90071992547409.9310", "currency": "EUR"});
        let total = json!({"amount": "90071992547409.9310", "currency": "EUR"});
        assert_eq!(
            apply(&steps, &old),
            json!({"order_id": "A", "total": total})
        );
    }

    #[test]
    fn data_that_no_schema_allows_does_not_panic() {
        let steps = chain("order.confirmed", 1, 2).unwrap();
        for data in [json!(null), json!({}), json!([1]), json!({"amount": {}})] {
            apply(&steps, &data);
        }
    }

    #[test]
    fn the_names_after_a_step_are_known_beforehand() {
        let steps = chain("order.confirmed", 1, 2).unwrap();
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|&name| name.to_owned())
                .collect::<Vec<_>>()
        };
        let after = fields_after(&steps, names(&["note", "amount", "currency"]));
        assert_eq!(after.unwrap(), ["note", "total"]);
        assert_eq!(fields_after(&steps, names(&["amount"])), Err("currency"));
    }
}
