//! Names of events and commands (design §1, requirement B5): an event is a fact in the past tense, a command asks.

use super::Kind;

/// Participles that do not end in -ed. One that is also an infinitive (`set`, `put`) fits both kinds.
const IRREGULAR: [&str; 84] = [
    "become",
    "begun",
    "born",
    "bought",
    "bound",
    "broken",
    "brought",
    "built",
    "burnt",
    "cast",
    "caught",
    "chosen",
    "come",
    "cut",
    "dealt",
    "done",
    "drawn",
    "driven",
    "fallen",
    "felt",
    "forbidden",
    "forgotten",
    "fought",
    "found",
    "frozen",
    "given",
    "gone",
    "grown",
    "held",
    "hidden",
    "hit",
    "hung",
    "kept",
    "known",
    "laid",
    "led",
    "left",
    "lent",
    "lost",
    "made",
    "meant",
    "met",
    "mistaken",
    "overdrawn",
    "overridden",
    "paid",
    "proven",
    "put",
    "read",
    "rebuilt",
    "redone",
    "resent",
    "reset",
    "resold",
    "risen",
    "rerun",
    "run",
    "seen",
    "sent",
    "set",
    "shown",
    "shut",
    "sold",
    "spent",
    "split",
    "spoken",
    "spread",
    "stolen",
    "stood",
    "stuck",
    "sunk",
    "sworn",
    "taken",
    "taught",
    "thought",
    "thrown",
    "told",
    "understood",
    "undone",
    "unpaid",
    "unsent",
    "withdrawn",
    "won",
    "written",
];
/// Of these, the ones that also ask.
const BOTH: [&str; 13] = [
    "become", "cast", "come", "cut", "hit", "put", "read", "reset", "rerun", "run", "set", "shut",
    "split",
];
/// Words in -ed that ask, or are no participles.
const NOT_PAST: [&str; 14] = [
    "bleed", "breed", "embed", "exceed", "feed", "heed", "need", "proceed", "seed", "shed",
    "speed", "succeed", "unneed", "weed",
];

/// What is wrong with an event type's name; says what to do.
pub(super) fn problem(name: &str, kind: Kind) -> Option<String> {
    let last = name.rsplit(['.', '_']).next().unwrap_or(name);
    let past = is_past(last);
    match kind {
        Kind::Event if !past => Some(format!(
            "{last:?} is not in the past tense, and an event is a fact that happened. Name it so (order.confirmed, payment.sent), \
             or say kind = \"command\" in type.toml if it asks for something"
        )),
        Kind::Command if past && !BOTH.contains(&last) => Some(format!(
            "{last:?} is in the past tense, and a command asks. Name it with an imperative (notification.send), \
             or take kind = \"command\" out of type.toml if it is a fact"
        )),
        Kind::Event | Kind::Command => None,
    }
}

fn is_past(word: &str) -> bool {
    let regular = word.len() > 3 && word.ends_with("ed") && !NOT_PAST.contains(&word);
    regular || IRREGULAR.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_in_the_past_tense() {
        for name in [
            "order.confirmed",
            "order.shipped",
            "order.delivered",
            "notification.requested",
            "payment.sent",
            "invoice.paid",
            "order.payment_failed",
            "stock.sold_out.noticed",
            "limit.set",
            "backup.run",
        ] {
            assert_eq!(problem(name, Kind::Event), None, "{name}");
        }
        for name in [
            "notification.send",
            "order.confirm",
            "order",
            "order.confirmation",
            "order.red",
            "supply.need",
            "cart.feed",
        ] {
            let problem = problem(name, Kind::Event).unwrap();
            assert!(
                problem.contains("past tense") && problem.contains("kind = \"command\""),
                "{problem}"
            );
        }
    }

    #[test]
    fn commands_ask() {
        for name in [
            "notification.send",
            "order.confirm",
            "limit.set",
            "robot.feed",
        ] {
            assert_eq!(problem(name, Kind::Command), None, "{name}");
        }
        for name in ["notification.sent", "order.confirmed"] {
            assert!(
                problem(name, Kind::Command).unwrap().contains("imperative"),
                "{name}"
            );
        }
    }
}
