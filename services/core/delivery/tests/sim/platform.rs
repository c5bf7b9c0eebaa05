use std::time::Duration;

use rand::Rng;
use rand::rngs::StdRng;
use tidings_platforms::{DeadScope, HoldScope, Verdict};

/// What the platform does with one call: whether the person sees it, and what the worker learns.
pub struct Reaction {
    pub accepted: bool,
    pub verdict: Verdict,
    /// The worker can not know whether it was accepted.
    pub ambiguous: bool,
}

pub fn react(random: &mut StdRng, faults: bool) -> Reaction {
    let roll = if faults {
        random.random_range(0..100)
    } else {
        99
    };
    let (accepted, verdict, ambiguous) = match roll {
        0..3 => (true, Verdict::Unknown, true),
        3..6 => (false, Verdict::Unknown, true),
        6..12 => (false, Verdict::Transient, false),
        12..16 => (false, throttled(random), false),
        16..18 => (false, Verdict::Rejected, false),
        18..20 => (
            false,
            Verdict::DeadTarget {
                scope: DeadScope::Chat,
                reprobe: false,
            },
            false,
        ),
        20..22 => (
            false,
            Verdict::Migrated {
                new_chat_id: "-100".into(),
            },
            false,
        ),
        22 => (false, Verdict::AuthBroken, false),
        23..25 => (false, Verdict::Unrecognised, false),
        _ => (
            true,
            Verdict::Delivered {
                platform_message_id: Some("1".into()),
            },
            false,
        ),
    };
    Reaction {
        accepted,
        verdict,
        ambiguous,
    }
}

fn throttled(random: &mut StdRng) -> Verdict {
    let scope = match random.random_range(0..4) {
        0 => HoldScope::Chat,
        1 => HoldScope::Account,
        2 => HoldScope::Address,
        _ => HoldScope::Unnamed,
    };
    let wait = random
        .random_bool(0.8)
        .then(|| Duration::from_millis(random.random_range(1..3_000)));
    Verdict::Throttled { scope, wait }
}
