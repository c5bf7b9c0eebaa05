use tidings_simulator::limits::Limits;

/// A platform account of a deployment. All are accounts of its one simulator, each with a token of its own.
#[derive(Debug, Clone)]
pub struct DrillAccount {
    /// Its alias: the account is `telegram:<alias>`. Letters, digits, `-` and `_`.
    pub alias: String,
    /// The limits proposed for it, as the keys of `[accounts."…".limits]` in TOML.
    pub limits: String,
    /// What the simulated platform holds it to.
    pub platform_limits: Limits,
}

impl DrillAccount {
    /// An account at a platform without limits.
    pub fn new(alias: impl Into<String>, limits: impl Into<String>) -> Self {
        Self {
            alias: alias.into(),
            limits: limits.into(),
            platform_limits: Limits::off(),
        }
    }
}
