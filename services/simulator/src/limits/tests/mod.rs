//! Limits in virtual time.

use std::time::Duration;

use super::account::Account;
use super::*;

mod bounds;
mod penalties;
mod windows;

const TELEGRAM: Limits = Limits {
    enforce: Enforce::Answer,
    account: Some(WindowLimit {
        count: 30,
        period_ms: 1_000,
    }),
    chat: Some(SpacingLimit {
        spacing_ms: 1_000,
        burst: 1,
    }),
    group: Some(WindowLimit {
        count: 20,
        period_ms: 60_000,
    }),
    excuse_ms: 100,
    account_penalty_chats: 2,
    max_chats: 65_536,
};

/// Only what is named.
const NOTHING: Limits = Limits {
    account: None,
    chat: None,
    group: None,
    ..TELEGRAM
};

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A call whose head and body arrive at once.
fn call(account: &mut Account, chat_id: &str, at: u64) -> Ruling {
    let ruling = account.arrive(chat_id, ms(at), ms(at));
    account.count(
        &ruling,
        ruling.refusal.is_none(),
        at / 1_000,
        Some("m/o/1/1"),
    );
    ruling
}

fn exceeded(account: &mut Account, chat_id: &str, at: u64) -> Option<Exceeded> {
    call(account, chat_id, at).exceeded
}

fn in_penalty(account: &mut Account, chat_id: &str, at: u64) -> bool {
    call(account, chat_id, at).in_penalty
}

fn announce(account: &mut Account, chat_id: &str, scope: PenaltyScope, seconds: u64, at: u64) {
    account.announce(chat_id, scope, Duration::from_secs(seconds), ms(at));
}

/// An account that 30 chats have called at 0 ms.
fn full_second(enforce: Enforce) -> Account {
    let mut account = Account::new(Limits {
        enforce,
        ..TELEGRAM
    });
    for chat in 1..=30 {
        assert_eq!(exceeded(&mut account, &chat.to_string(), 0), None, "{chat}");
    }
    account
}
