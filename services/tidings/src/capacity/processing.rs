//! How long one message takes a dispatcher.

use std::time::Duration;

use anyhow::{Context as _, bail};
use tidings_edge::telemetry::metric_names::ATTEMPT_DURATION_SECONDS;

use super::facts::Sourced;
use super::options::CapacityOptions;

/// A platform's call when nothing better is known.
const ASSUMED: Duration = Duration::from_millis(200);

/// The longest that one dispatcher may take to answer.
const ANSWER: Duration = Duration::from_secs(5);

pub(super) async fn processing(
    options: &CapacityOptions,
    length: Duration,
) -> anyhow::Result<Sourced<Duration>> {
    if let Some(seconds) = options.processing_seconds {
        let given = Duration::try_from_secs_f64(seconds)?;
        return Ok(Sourced::new(given, "given: --processing-seconds"));
    }
    if options.dispatchers.is_empty() {
        return Ok(Sourced::new(
            ASSUMED,
            "assumed; --dispatcher measures it, --processing-seconds gives it",
        ));
    }
    let before = all(&options.dispatchers).await?;
    tokio::time::sleep(length).await;
    let after = all(&options.dispatchers).await?;
    let since = Calls {
        seconds: after.seconds - before.seconds,
        count: after.count - before.count,
    };
    let from = options.dispatchers.len();
    let (mean, when) = match (since.mean(), after.mean()) {
        (Some(mean), _) => (mean, "during the sample"),
        (None, Some(mean)) => (
            mean,
            "since their start, for there was none during the sample",
        ),
        (None, None) => bail!(
            "--dispatcher: there was no call yet whose length could be taken; give --processing-seconds"
        ),
    };
    Ok(Sourced::new(
        mean,
        format!("measured: the calls of {from} dispatcher(s) {when}"),
    ))
}

/// Calls of platforms, as a histogram sums them up.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Calls {
    seconds: f64,
    count: f64,
}

impl Calls {
    fn mean(self) -> Option<Duration> {
        let mean = self.seconds / self.count;
        (self.count > 0.0)
            .then(|| Duration::try_from_secs_f64(mean).ok())
            .flatten()
    }
}

async fn all(dispatchers: &[String]) -> anyhow::Result<Calls> {
    let mut sum = Calls::default();
    for address in dispatchers {
        let url = format!("http://{address}/metrics");
        let text = text(&url).await;
        let text = text.with_context(|| format!("--dispatcher {address}: no answer at {url}"))?;
        let calls = parse(&text);
        sum.seconds += calls.seconds;
        sum.count += calls.count;
    }
    Ok(sum)
}

async fn text(url: &str) -> reqwest::Result<String> {
    let client = reqwest::Client::builder().timeout(ANSWER).build()?;
    let answer = client.get(url).send().await?;
    answer.error_for_status()?.text().await
}

/// Prometheus' text: `name{labels} value`.
fn parse(text: &str) -> Calls {
    let of = |suffix: &str| -> f64 {
        let name = format!("{ATTEMPT_DURATION_SECONDS}_{suffix}");
        let values = text.lines().filter_map(|line| {
            let rest = line.strip_prefix(&name)?;
            let fits = rest.starts_with('{') || rest.starts_with(' ');
            let value = rest.rsplit(' ').next().filter(|_| fits)?;
            value.parse::<f64>().ok().filter(|value| value.is_finite())
        });
        values.sum()
    };
    Calls {
        seconds: of("sum"),
        count: of("count"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_all_accounts_are_summed() {
        let text = "# TYPE tidings_attempt_duration_seconds histogram\n\
            tidings_attempt_duration_seconds_bucket{platform=\"telegram\",le=\"+Inf\"} 30\n\
            tidings_attempt_duration_seconds_sum{platform=\"telegram\",account=\"telegram:main\"} 5\n\
            tidings_attempt_duration_seconds_count{platform=\"telegram\",account=\"telegram:main\"} 20\n\
            tidings_attempt_duration_seconds_sum{platform=\"telegram\",account=\"telegram:b c\"} 1\n\
            tidings_attempt_duration_seconds_count{platform=\"telegram\",account=\"telegram:b c\"} 10\n\
            tidings_attempt_duration_seconds_summary 7\n";
        let calls = parse(text);
        assert_eq!(
            calls,
            Calls {
                seconds: 6.0,
                count: 30.0
            }
        );
        assert_eq!(calls.mean(), Some(Duration::from_millis(200)));
        assert_eq!(parse("").mean(), None);
        assert_eq!(
            parse("tidings_attempt_duration_seconds_sum NaN").mean(),
            None
        );
    }
}
