//! `tidings doctor`: what is wrong with a deployment, one line a finding.

use std::time::Duration;

use clap::Args;
use tidings_edge::doctor::{Finding, Health, examine};

use crate::cli::ConfigOptions;
use crate::exit::Exit;
use crate::out::line;

#[derive(Args)]
pub(crate) struct DoctorOptions {
    #[command(flatten)]
    config: ConfigOptions,
    /// The longest that one check may take, in seconds; all run side by side
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..=600))]
    deadline: u64,
    /// Print one JSON object a finding
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(options: DoctorOptions) -> anyhow::Result<Exit> {
    let deadline = Duration::from_secs(options.deadline);
    let findings = examine(options.config.config.as_deref(), deadline).await;
    for finding in &findings {
        if options.json {
            line(serde_json::to_string(finding)?);
        } else {
            line(lines(finding));
        }
    }
    if !options.json {
        line(format_args!("\n{}", sum(&findings)));
    }
    let worst = findings.iter().map(|finding| finding.health).max();
    Ok(match worst {
        Some(Health::Problem) => Exit::Refused,
        Some(Health::Ok | Health::Warning) | None => Exit::Done,
    })
}

fn lines(finding: &Finding) -> String {
    let head = format!("{:<8} {:<16} ", finding.health.word(), finding.check);
    match finding.health {
        Health::Ok => format!("{head} {}", finding.found),
        Health::Warning | Health::Problem => format!(
            "{head} {}: {}\n{:>27}remedy: {}",
            finding.key, finding.found, "", finding.remedy
        ),
    }
}

fn sum(findings: &[Finding]) -> String {
    let count = |health| findings.iter().filter(|f| f.health == health).count();
    format!(
        "{} ok, {} warning(s), {} problem(s)",
        count(Health::Ok),
        count(Health::Warning),
        count(Health::Problem)
    )
}
