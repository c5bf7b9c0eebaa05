//! A list of durations in human form, `["500ms", "1s"]`, for serde's `with`.

use std::time::Duration;

use serde::{Deserialize, Deserializer};

#[derive(Deserialize)]
struct Human(#[serde(with = "humantime_serde")] Duration);

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Duration>, D::Error> {
    let list = Vec::<Human>::deserialize(deserializer)?;
    Ok(list.into_iter().map(|Human(duration)| duration).collect())
}
