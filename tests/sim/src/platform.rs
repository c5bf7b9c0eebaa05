//! The platform: what a person sees, and what the caller learns, are two things.

use std::time::Duration;

use tidings_platforms::{DeadScope, HoldScope, Verdict};

use crate::random::Random;

/// What the platform does with one call.
pub(crate) struct Reaction {
    /// The name under which it is counted.
    pub(crate) what: &'static str,
    /// Whether people see the post.
    pub(crate) accepted: bool,
    /// Whether the answer never comes, or not in time.
    pub(crate) lost: bool,
    /// What the answer means, if it comes.
    pub(crate) verdict: Verdict,
}

impl Reaction {
    fn answered(what: &'static str, verdict: Verdict) -> Self {
        Self {
            what,
            accepted: false,
            lost: false,
            verdict,
        }
    }

    fn ambiguous(what: &'static str, accepted: bool, lost: bool) -> Self {
        Self {
            what,
            accepted,
            lost,
            verdict: Verdict::Unknown,
        }
    }

    fn accepted() -> Self {
        let verdict = Verdict::Delivered {
            platform_message_id: Some("1".into()),
        };
        Self {
            accepted: true,
            ..Self::answered("calls accepted", verdict)
        }
    }
}

pub(crate) fn react(random: &mut Random, odd_permille: u64) -> Reaction {
    if !random.chance(odd_permille) {
        return Reaction::accepted();
    }
    match random.below(16) {
        0..3 => Reaction::ambiguous("calls accepted whose answer was lost", true, true),
        3 => Reaction::ambiguous("calls accepted and answered with nonsense", true, false),
        4 => Reaction::ambiguous("calls not accepted whose answer was lost", false, true),
        5 => Reaction::ambiguous(
            "calls not accepted and answered with nonsense",
            false,
            false,
        ),
        6..9 => Reaction::answered("calls refused for now", Verdict::Transient),
        9..11 => Reaction::answered("calls throttled", throttled(random)),
        11 => Reaction::answered("calls rejected", Verdict::Rejected),
        12 => Reaction::answered("calls to a dead target", dead_target()),
        13 => Reaction::answered("calls to a migrated chat", migrated()),
        14 => Reaction::answered("calls with a refused credential", Verdict::AuthBroken),
        _ => Reaction::answered("calls answered in unknown words", Verdict::Unrecognised),
    }
}

fn dead_target() -> Verdict {
    Verdict::DeadTarget {
        scope: DeadScope::Chat,
        reprobe: false,
    }
}

fn migrated() -> Verdict {
    Verdict::Migrated {
        new_chat_id: "-100".into(),
    }
}

fn throttled(random: &mut Random) -> Verdict {
    let scope = random.pick(&[
        HoldScope::Chat,
        HoldScope::Account,
        HoldScope::Address,
        HoldScope::Unnamed,
    ]);
    let hint = Duration::from_millis(random.between(1, 4_000));
    let wait = random.chance(800).then_some(hint);
    Verdict::Throttled { scope, wait }
}
