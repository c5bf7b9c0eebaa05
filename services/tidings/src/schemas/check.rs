//! `tidings schemas check`: our own proof, so that each refusal names the field and the remedy.

use std::error::Error;
use std::path::Path;

use serde_json::json;
use tidings_edge::registry::Subjects;
use tidings_edge::schemas::{editions, incompatible};
use tidings_envelope::{Catalogue, EventType};

use super::{CheckOptions, Chosen};
use crate::exit::Exit;

/// Something that `check` tells.
pub(super) struct Finding {
    /// The subject, or the folder.
    subject: String,
    /// The field, if it is about one.
    field: Option<String>,
    problem: String,
    remedy: Option<String>,
    /// Whether it keeps the event types from being registered.
    refuses: bool,
}

pub(super) async fn run(options: &CheckOptions) -> anyhow::Result<Exit> {
    let chosen = Chosen::of(&options.common)?;
    let subjects = match options.offline {
        true => None,
        false => Some(Subjects::new(&chosen.config.registry)?),
    };
    let findings = match &chosen.catalogue {
        Ok(catalogue) => findings(catalogue, chosen.folder.as_deref(), subjects.as_ref()).await?,
        Err(error) => vec![unusable(error)],
    };
    Ok(tell(&findings, options.common.json))
}

/// Everything that is to be said about a catalogue.
pub(super) async fn findings(
    catalogue: &Catalogue,
    folder: Option<&Path>,
    subjects: Option<&Subjects>,
) -> anyhow::Result<Vec<Finding>> {
    let mut all = history(catalogue, folder)?;
    for event in catalogue.iter() {
        if let Some(subjects) = subjects {
            let registered = subjects.editions(event.full_name()).await?;
            all.extend(
                incompatible(event, &registered)
                    .into_iter()
                    .map(|one| Finding {
                        subject: one.subject,
                        field: Some(one.found.field),
                        problem: format!("{} (against {})", one.found.problem, one.earlier),
                        remedy: Some(one.found.remedy),
                        refuses: true,
                    }),
            );
        }
        all.extend(not_portable(event));
    }
    Ok(all)
}

fn history(catalogue: &Catalogue, folder: Option<&Path>) -> anyhow::Result<Vec<Finding>> {
    let mut all = Vec::new();
    let Some(folder) = folder else {
        return Ok(all);
    };
    for edition in editions(folder)? {
        let Some(event) = catalogue.get(&edition.event_type, edition.version) else {
            all.push(Finding {
                subject: edition.file.clone(),
                field: None,
                problem: format!("version {} has earlier editions, and no v{}.avsc any more", edition.version, edition.version),
                remedy: Some("keep it for as long as a topic or an archive holds its messages, or remove its history".to_owned()),
                refuses: true,
            });
            continue;
        };
        all.extend(
            event
                .breaks_with_data(&edition.data_json)
                .into_iter()
                .map(|found| Finding {
                    subject: event.full_name().to_owned(),
                    field: Some(found.field),
                    problem: format!("{} (against {})", found.problem, edition.file),
                    remedy: Some(found.remedy),
                    refuses: true,
                }),
        );
    }
    Ok(all)
}

/// A notice: it works, but not on dispatchers that lack the version.
fn not_portable(event: &EventType) -> Option<Finding> {
    let reason = event.not_portable()?;
    Some(Finding {
        subject: event.full_name().to_owned(),
        field: None,
        problem: format!("its schema does not carry its template, {reason}"),
        remedy: Some(
            "simplify it, or deploy every dispatcher before the first producer".to_owned(),
        ),
        refuses: false,
    })
}

/// An error's whole chain; each part names its place and remedy.
pub(super) fn unusable(error: &dyn Error) -> Finding {
    let mut problem = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        problem.push_str(": ");
        problem.push_str(&cause.to_string());
        source = cause.source();
    }
    Finding {
        subject: "event types".to_owned(),
        field: None,
        problem,
        remedy: None,
        refuses: true,
    }
}

/// Prints the findings and says how the command ends.
pub(super) fn tell(findings: &[Finding], json: bool) -> Exit {
    for finding in findings {
        println!("{}", if json { line(finding) } else { words(finding) });
    }
    let refusals = findings.iter().filter(|finding| finding.refuses).count();
    match (refusals, json) {
        (0, true) => Exit::Done,
        (0, false) => {
            println!("event types: compatible");
            Exit::Done
        }
        (_, _) => Exit::Refused,
    }
}

fn line(finding: &Finding) -> String {
    json!({
        "subject": finding.subject,
        "field": finding.field,
        "problem": finding.problem,
        "remedy": finding.remedy,
        "refuses": finding.refuses,
    })
    .to_string()
}

fn words(finding: &Finding) -> String {
    let mut text = if finding.refuses {
        String::new()
    } else {
        "notice: ".to_owned()
    };
    text.push_str(&finding.subject);
    for part in finding.field.iter().chain([&finding.problem]) {
        text.push_str(": ");
        text.push_str(part);
    }
    if let Some(remedy) = &finding.remedy {
        text.push_str(". Remedy: ");
        text.push_str(remedy);
    }
    text
}
