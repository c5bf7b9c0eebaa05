//! The numbers and their definitions (design §7, "What the judge counts").

/// One count, ready to be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Count {
    /// Its name, as in the JSON object.
    pub name: &'static str,
    /// Its number.
    pub value: u64,
    /// What it counts.
    pub definition: &'static str,
    /// Whether anything but 0 breaks the promise.
    pub must_be_zero: bool,
}

macro_rules! counts {
    ($($(#[zero $zero:tt])? $name:ident: $definition:literal,)+) => {
        /// Everything the judge counts. Messages are counted once, posts each time.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub struct Counts {
            $(#[doc = $definition] pub $name: u64,)+
        }

        impl Counts {
            /// All counts in the order of the table.
            pub fn list(&self) -> Vec<Count> {
                vec![$(Count {
                    name: stringify!($name),
                    value: self.$name,
                    definition: $definition,
                    must_be_zero: counts!(@zero $($zero)?),
                },)+]
            }
        }
    };
    (@zero !) => { true };
    (@zero) => { false };
}

counts! {
    committed: "messages that upstream committed: rows of the ledger",
    rolled_back: "messages whose transactions upstream rolled back",
    posted: "committed messages that the platform accepted at least once",
    delivered: "settled as delivered",
    undeliverable: "settled as undeliverable: dead target",
    rejected: "settled as rejected by the platform, or in outbox_rejected",
    rejected_by_relay: "of these, in outbox_rejected",
    dead_lettered: "settled as dead-lettered: attempts exhausted, or poison",
    expired: "settled as expired",
    parked: "settled as parked: unknown under `park`",
    discarded: "settled as discarded by an operator",
    given_up: "expected to be posted, but settled otherwise than delivered, by the dispatcher",
    #[zero !] lost: "neither settled, nor posted, nor held anywhere after quiescence",
    #[zero !] unresolved: "not settled: still claimed, deferred, in the outbox, held, or in a lane after quiescence",
    duplicated: "posts beyond the first of a message",
    #[zero !] unexplained_duplicates: "of these, more than the message's own accepted attempts that were in flight at a kill or had no usable answer",
    in_flight_at_kill: "attempts of killed or fenced workers, accepted or unanswered, without `sent` recorded (K)",
    unknown_answers: "other attempts whose answer was lost, late or a 5xx; counted only when allowed to excuse extra posts",
    #[zero !] out_of_order: "first posts that came after a first post of their chat and lane that they precede",
    #[zero !] posted_uncommitted: "posts of a rolled-back or unknown message, or without a readable attempt id",
    #[zero !] wrong_chat: "posts to another account or chat than the message's",
    #[zero !] wrong_text: "posts whose text lacks the message's marker",
    #[zero !] settled_without_post: "settled as delivered, but never accepted by the platform",
    #[zero !] posted_without_settlement: "accepted by the platform, but not settled",
    #[zero !] expectation_broken: "valid messages that the relay rejected, invalid ones that were posted",
    #[zero !] missing_dead_letters: "settled as a dead letter, but in no dead-letter topic; 0 when no brokers were named",
    dead_letter_records: "records in the dead-letter topics, whoever's; 0 when no brokers were named",
    lag: "records behind the consumer group, whoever's; 0 when no brokers were named",
    calls: "calls that the platform received, whoever's",
    foreign_posts: "posts that concern no message and no chat of the judged run",
}
