//! The arguments of `tidings capacity`.

use clap::Args;

use crate::cli::ConfigOptions;

#[derive(Args)]
pub(crate) struct CapacityOptions {
    #[command(flatten)]
    pub(super) config: ConfigOptions,
    /// How long arrival is measured, in seconds
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub(super) seconds: u64,
    /// Messages a second that are to be worked off, instead of those measured: to plan ahead
    #[arg(long, value_parser = amount)]
    pub(super) arrival_per_second: Option<f64>,
    /// How long one message takes a dispatcher's call, in seconds
    #[arg(long, value_parser = amount)]
    pub(super) processing_seconds: Option<f64>,
    /// Where a dispatcher's /metrics are, as host:port: the length of its calls is taken from there (repeatable)
    #[arg(long = "dispatcher", conflicts_with = "processing_seconds")]
    pub(super) dispatchers: Vec<String>,
    /// Print one JSON object a line: the number with its inputs and caps, then each lane
    #[arg(long)]
    pub(super) json: bool,
}

fn amount(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(amount) if (0.0..=1e9).contains(&amount) => Ok(amount),
        Ok(_) | Err(_) => Err("give a number from 0 to 1000000000".into()),
    }
}
