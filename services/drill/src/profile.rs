use std::time::Duration;

/// The timeouts that hang together (design §7), short enough for a drill to see them pass.
#[derive(Debug, Clone)]
pub struct Profile {
    /// Partitions of each lane.
    pub partitions: u32,
    /// The longest call.
    pub call_deadline: Duration,
    /// How long a claim holds.
    pub lease: Duration,
    /// What must be left of it beyond the deadline when a call starts.
    pub lease_margin: Duration,
    /// After this silence a worker is taken for dead.
    pub session_timeout: Duration,
    /// The longest that a stop waits.
    pub drain_deadline: Duration,
    /// The first wait of the standard retry profile.
    pub retry_base: Duration,
    /// Attempts of the standard retry profile.
    pub retry_attempts: u32,
    /// The dispatchers' group protocol: `classic` or `consumer`.
    pub group_protocol: &'static str,
    /// Records that one worker holds.
    pub max_records: usize,
    /// Limits of the account, as the keys of `[accounts."…".limits]` in TOML.
    pub account_limits: String,
    /// Further settings, `section.key = value` in TOML, after all others.
    pub more: String,
}

impl Profile {
    /// The demo's and the drills': deadline 2 s, lease 5 s, session 6 s.
    #[must_use]
    pub fn drill() -> Self {
        Self {
            partitions: 6,
            call_deadline: Duration::from_secs(2),
            lease: Duration::from_secs(5),
            lease_margin: Duration::from_secs(1),
            session_timeout: Duration::from_secs(6),
            drain_deadline: Duration::from_secs(5),
            retry_base: Duration::from_millis(200),
            retry_attempts: 8,
            group_protocol: group_protocol(),
            max_records: 10_000,
            // Nothing here is about a platform's limits, so that they are not what is measured.
            account_limits: "exact = false\naccount = [\"1000/1s\"]".into(),
            more: String::new(),
        }
    }
}

/// `TIDINGS_GROUP_PROTOCOL=consumer` runs a whole suite on the other protocol.
fn group_protocol() -> &'static str {
    match std::env::var("TIDINGS_GROUP_PROTOCOL").as_deref() {
        Ok("consumer") => "consumer",
        Ok(_) | Err(_) => "classic",
    }
}
