//! What limits may be, and what is remembered.

use super::*;

#[test]
fn the_defaults_are_telegrams() {
    assert_eq!(Limits::default(), TELEGRAM);
    assert_eq!(Limits::from_json(b"{}").unwrap(), TELEGRAM);
}

#[test]
fn chats_take_memory_only_while_something_of_them_is_left_and_within_the_bound() {
    let limits = Limits {
        account: None,
        max_chats: 100,
        ..TELEGRAM
    };
    let mut account = Account::new(limits);
    announce(&mut account, "7", PenaltyScope::Chat, 3_600, 0);
    for chat in 1_000..1_150 {
        call(&mut account, &chat.to_string(), 0);
    }
    assert_eq!(account.chats().len(), 100);
    assert_eq!(account.stats(None).forgotten_chats, 51);
    call(&mut account, "-7", 1_000);
    assert_eq!(account.chats().len(), 2, "the penalty and the group");
    assert!(
        in_penalty(&mut account, "7", 1_000),
        "what ends last is kept"
    );
    call(&mut account, "1", 3_600_000);
    assert_eq!(account.chats().len(), 1);
    assert_eq!(account.stats(None).forgotten_chats, 51);
}

#[test]
fn counts_by_second_and_worker_are_bounded() {
    let mut account = Account::new(Limits::off());
    for turn in 0..5_000_u64 {
        let ruling = account.arrive("7", ms(turn), ms(turn));
        let attempt = format!("m/worker-{turn}/1/1");
        account.count(&ruling, true, turn, Some(&attempt));
    }
    let ruling = account.arrive("7", ms(1), ms(1));
    for attempt in [None, Some("m"), Some("m//1/1"), Some("m/worker-3/9/9")] {
        account.count(&ruling, true, 4_998, attempt);
    }
    account.count(&ruling, false, 4_998, Some("m/worker-4/1/1"));
    let stats = account.stats(Some(4_998));
    let count = |worker: &str| stats.accepted_by_worker.get(worker).copied();
    assert_eq!((count("worker-3"), count("worker-4")), (Some(2), Some(1)));
    assert_eq!(
        count(UNKNOWN_WORKER),
        None,
        "came when all places were taken"
    );
    assert_eq!(count(OTHER_WORKERS), Some(5_000 - 1_024 + 3));
    let seconds: Vec<_> = stats.seconds.iter().collect();
    assert_eq!(seconds.len(), 2);
    assert_eq!((seconds[0].unix_second, seconds[0].arrived), (4_998, 6));
    assert_eq!((seconds[0].accepted, seconds[1].accepted), (5, 1));
    assert_eq!(account.stats(Some(0)).seconds.len(), MAX_SECONDS);
    assert!(account.stats(None).seconds.is_empty());
}

#[test]
fn values_out_of_range_are_refused_with_their_account() {
    let wrong = [
        r#"{"account": {"count": 0, "period_ms": 1000}}"#,
        r#"{"account": {"count": 100001, "period_ms": 1000}}"#,
        r#"{"group": {"count": 20, "period_ms": 0}}"#,
        r#"{"group": {"count": 20, "period_ms": 86400001}}"#,
        r#"{"group": {"count": 100, "period_ms": 60000}}"#,
        r#"{"chat": {"spacing_ms": 0}}"#,
        r#"{"chat": {"spacing_ms": 1000, "burst": 0}}"#,
        r#"{"excuse_ms": 60001}"#,
        r#"{"account_penalty_chats": 3}"#,
        r#"{"max_chats": 0}"#,
    ];
    for json in wrong {
        let limits = Limits::from_json(json.as_bytes()).unwrap();
        let error = limits.validate("main").unwrap_err().to_string();
        assert!(error.starts_with("main: "), "{json}: {error}");
    }
    for json in ["[]", "", r#"{"enforce": "on"}"#, r#"{"acount": null}"#] {
        assert!(Limits::from_json(json.as_bytes()).is_err(), "{json}");
    }
}
