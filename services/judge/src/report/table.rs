//! The report for people.

use std::fmt::Write as _;

use super::{Count, Finding, Report, rest_word};

/// Never fails: writing to a `String` cannot.
pub(super) fn render(report: &Report) -> String {
    let mut out = String::new();
    let verdict = if report.passed() { "PASSED" } else { "FAILED" };
    let run = report.run.as_deref().unwrap_or("every run");
    let rest = rest_word(report.rest).replace('_', " ");
    let _ = writeln!(out, "judge: {verdict} ({run}; rest: {rest})\n");
    let failures = report.failures();
    for count in report.counts.list() {
        write_count(&mut out, &count, &failures);
    }
    for (kind, finding) in report.findings.iter() {
        write_finding(&mut out, kind, finding);
    }
    if report.counts.committed == 0 {
        out.push_str("\nNothing was committed: check --run and --upstream.\n");
    }
    out
}

fn write_count(out: &mut String, count: &Count, failures: &[&str]) {
    let mark = if failures.contains(&count.name) {
        "✗"
    } else if count.must_be_zero {
        "✓"
    } else {
        " "
    };
    let Count {
        name,
        value,
        definition,
        must_be_zero: _,
    } = count;
    let _ = writeln!(out, "{mark} {name:<26}{value:>10}  {definition}");
}

fn write_finding(out: &mut String, kind: &str, finding: &Finding) {
    let shown = finding.examples.len();
    let _ = writeln!(out, "\n{kind}: {shown} of {}", finding.total);
    for example in &finding.examples {
        let _ = writeln!(out, "  {example}");
    }
}
