use std::time::Duration;

use super::{Limit, Rule, ScopeLimits};

/// The exact limits of a platform (reference/platforms.md): the default of every scope of it. Platforms whose limits
/// are not stated there, webhooks among them, have none.
pub fn exact_limits(platform: &str) -> ScopeLimits {
    match platform {
        "telegram" => ScopeLimits {
            scope: vec![window(30, 1)],
            chat: vec![window(1, 1)],
            group: vec![window(20, 60)],
        },
        "discord" => ScopeLimits {
            scope: vec![window(50, 1)],
            ..ScopeLimits::default()
        },
        "slack" => ScopeLimits {
            chat: vec![window(1, 1)],
            ..ScopeLimits::default()
        },
        "whatsapp" => ScopeLimits {
            scope: vec![window(80, 1)],
            chat: vec![bucket(1_000_000 / 6, 45)],
            ..ScopeLimits::default()
        },
        _ => ScopeLimits::default(),
    }
}

/// The presets of the second source document, by name (requirement L2). They add to the exact limits
/// ([`ScopeLimits::with`]) and are for whoever wants to stay further below them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourcePreset {
    /// 25 a second, burst 30, 0.05 s a chat.
    Telegram,
    /// 1 a second, burst 5, 1 s a chat.
    Discord,
    /// 1 a second, burst 1, 1 s a chat.
    Slack,
    /// 50 a second, burst 80, 0.1 s a chat.
    WhatsApp,
}

impl SourcePreset {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Telegram, Self::Discord, Self::Slack, Self::WhatsApp];

    /// The name by which configuration and command line know it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Telegram => "telegram-source",
            Self::Discord => "discord-source",
            Self::Slack => "slack-source",
            Self::WhatsApp => "whatsapp-source",
        }
    }

    /// The preset of that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// Its rules.
    pub fn limits(self) -> ScopeLimits {
        let (rate, burst, delay_millis) = match self {
            Self::Telegram => (25, 30, 50),
            Self::Discord => (1, 5, 1_000),
            Self::Slack => (1, 1, 1_000),
            Self::WhatsApp => (50, 80, 100),
        };
        source_limits(rate * 1_000_000, burst, Duration::from_millis(delay_millis))
    }
}

/// What the second source document configures: `messages_per_second`, `burst_size`, `per_channel_delay` (requirement
/// L1; its defaults are 1.0, 5 and 1 s).
pub fn source_limits(
    micro_messages_per_second: u64,
    burst_size: u32,
    per_channel_delay: Duration,
) -> ScopeLimits {
    ScopeLimits {
        scope: vec![bucket(micro_messages_per_second, burst_size)],
        chat: vec![Rule::new(Limit::Spacing {
            delay: per_channel_delay,
        })],
        group: Vec::new(),
    }
}

fn window(count: u32, period_seconds: u64) -> Rule {
    Rule::new(Limit::Window {
        count,
        period: Duration::from_secs(period_seconds),
    })
}

fn bucket(micro_tokens_per_second: u64, burst: u32) -> Rule {
    Rule::new(Limit::TokenBucket {
        micro_tokens_per_second,
        burst,
        cost: 1,
    })
}
