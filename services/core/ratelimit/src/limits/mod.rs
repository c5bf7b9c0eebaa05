//! What a platform's limits are, and how they are enforced so that arrivals keep them (design §9).

mod headroom;
mod invalid;
mod presets;
mod wire;

use std::time::Duration;

pub(crate) use headroom::Enforced;
pub use headroom::{EXACT_HEADROOM_PERMILLE, TOKEN_BUCKET_HEADROOM_PERMILLE};
pub use invalid::LimitsError;
pub use presets::{SourcePreset, exact_limits, source_limits};

/// How late a permit may be used after its time (design §9); a start later than this is void.
pub const SLACK: Duration = Duration::from_millis(20);
/// What the way to the platform may differ from call to call, besides [`SLACK`].
pub const ARRIVAL_MARGIN: Duration = Duration::from_millis(5);
/// The slack of windows of a minute or more.
pub const MINUTE_SLACK: Duration = Duration::from_secs(1);

/// The most rules of one level of a scope.
pub const MAX_RULES: usize = 8;
/// The largest count of a window, and burst or cost of a bucket.
pub const MAX_COUNT: u32 = 10_000;
/// The longest window, delay or interval of tokens.
pub const MAX_PERIOD: Duration = Duration::from_secs(24 * 3_600);

/// The limits of one scope. All rules of a level must allow a message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ScopeLimits {
    /// Over all messages of the scope.
    pub scope: Vec<Rule>,
    /// Over the messages of each chat.
    pub chat: Vec<Rule>,
    /// Over the messages of each group (a chat whose id is negative), besides `chat`.
    pub group: Vec<Rule>,
}

/// A limit and how much of it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// The limit as the platform states it.
    pub limit: Limit,
    /// How much of it is used, in thousandths: of a window's count, of a bucket's rate; a spacing divides by it.
    pub headroom_permille: u32,
}

/// A limit as a platform states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// At most `count` messages in any `period`.
    Window {
        /// Messages.
        count: u32,
        /// In any stretch of this length.
        period: Duration,
    },
    /// A bucket that holds up to `burst` tokens and gains them at a rate; a message takes `cost` (requirement Q1).
    TokenBucket {
        /// Millionths of a token a second.
        micro_tokens_per_second: u64,
        /// Capacity, in tokens.
        burst: u32,
        /// Tokens a message.
        cost: u32,
    },
    /// At least `delay` between two messages.
    Spacing {
        /// From one to the next.
        delay: Duration,
    },
}

impl Rule {
    /// A rule with the headroom that its kind has by default: windows and spacings are used whole, buckets by three
    /// quarters (requirement Q1).
    pub fn new(limit: Limit) -> Self {
        let headroom_permille = match limit {
            Limit::Window { .. } | Limit::Spacing { .. } => EXACT_HEADROOM_PERMILLE,
            Limit::TokenBucket { .. } => TOKEN_BUCKET_HEADROOM_PERMILLE,
        };
        Self {
            limit,
            headroom_permille,
        }
    }
}

impl ScopeLimits {
    /// Adds the rules of another set: both must then allow a message, so that nothing is loosened (requirement L2).
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        for (mine, others) in [
            (&mut self.scope, other.scope),
            (&mut self.chat, other.chat),
            (&mut self.group, other.group),
        ] {
            for rule in others {
                if !mine.contains(&rule) {
                    mine.push(rule);
                }
            }
        }
        self
    }
}
