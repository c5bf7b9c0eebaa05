//! What Telegram's words mean: the answer table of reference/platforms.md, with neighbours of its rows that the Bot API
//! server is known to answer.

use crate::verdict::{DeadScope, HoldScope, Verdict};

/// What a description stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// Over a limit that the words do not name.
    Throttled,
    /// Nobody can be reached there any more; a new contact starts with the person.
    DeadChat,
    /// Not writable for now: an administrator may give the right back.
    ClosedChat,
    /// The thread is gone.
    DeadThread,
    /// The thread is closed and may be reopened.
    ClosedThread,
    /// The account is stopped.
    BrokenAccount,
    /// The message itself is the fault.
    Rejected,
}

/// Parts of descriptions, in lower case, and their meaning. The first that fits counts.
const RULES: &[(&str, Meaning)] = &[
    ("too many requests", Meaning::Throttled),
    ("flood_wait_", Meaning::Throttled),
    ("slowmode_wait_", Meaning::Throttled),
    ("blocked by the user", Meaning::DeadChat),
    ("user_is_blocked", Meaning::DeadChat),
    ("user is deactivated", Meaning::DeadChat),
    ("input_user_deactivated", Meaning::DeadChat),
    ("bot was kicked from", Meaning::DeadChat),
    ("bot is not a member of", Meaning::DeadChat),
    ("group chat was deleted", Meaning::DeadChat),
    ("group is deactivated", Meaning::DeadChat),
    ("initiate conversation with", Meaning::DeadChat),
    ("send messages to bots", Meaning::DeadChat),
    ("chat not found", Meaning::DeadChat),
    ("peer_id_invalid", Meaning::DeadChat),
    // Without `migrate_to_chat_id` there is nowhere to go: the old id never comes back.
    ("upgraded to a supergroup", Meaning::DeadChat),
    ("migrated to a supergroup", Meaning::DeadChat),
    ("migrated to supergroup", Meaning::DeadChat),
    ("need administrator rights", Meaning::ClosedChat),
    ("not enough rights to send", Meaning::ClosedChat),
    ("have no rights to send", Meaning::ClosedChat),
    ("have no write access", Meaning::ClosedChat),
    ("chat_write_forbidden", Meaning::ClosedChat),
    ("chat_restricted", Meaning::ClosedChat),
    ("chat_admin_required", Meaning::ClosedChat),
    ("chat_send_plain_forbidden", Meaning::ClosedChat),
    ("user_banned_in_channel", Meaning::ClosedChat),
    ("message thread not found", Meaning::DeadThread),
    ("topic_deleted", Meaning::DeadThread),
    ("topic_closed", Meaning::ClosedThread),
    ("logged out", Meaning::BrokenAccount),
    ("bot has already been closed", Meaning::BrokenAccount),
    ("frozen_method_invalid", Meaning::BrokenAccount),
    ("can't parse entities", Meaning::Rejected),
    ("message is too long", Meaning::Rejected),
    ("text is too long", Meaning::Rejected),
    ("text is empty", Meaning::Rejected),
    ("text must be non-empty", Meaning::Rejected),
    ("to be replied not found", Meaning::Rejected),
    ("reply message not found", Meaning::Rejected),
];

/// The verdict that `description` leads to by itself; `None` if no rule knows it.
pub(super) fn verdict(description: &str) -> Option<Verdict> {
    let description = description.to_lowercase();
    let (_, meaning) = RULES.iter().find(|(part, _)| description.contains(part))?;
    Some(match meaning {
        Meaning::Throttled => Verdict::Throttled {
            scope: HoldScope::Unnamed,
            wait: None,
        },
        Meaning::DeadChat => dead(DeadScope::Chat, false),
        Meaning::ClosedChat => dead(DeadScope::Chat, true),
        Meaning::DeadThread => dead(DeadScope::Thread, false),
        Meaning::ClosedThread => dead(DeadScope::Thread, true),
        Meaning::BrokenAccount => Verdict::AuthBroken,
        Meaning::Rejected => Verdict::Rejected,
    })
}

fn dead(scope: DeadScope, reprobe: bool) -> Verdict {
    Verdict::DeadTarget { scope, reprobe }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_in_lower_case_and_none_hides_a_later_one() {
        for (index, (part, meaning)) in RULES.iter().enumerate() {
            assert_eq!(*part, part.to_lowercase());
            let first = RULES.iter().position(|(earlier, _)| part.contains(earlier));
            assert_eq!(first, Some(index), "{part} ({meaning:?}) is never reached");
        }
    }
}
