//! When a call is too much.

use super::*;

#[test]
fn the_31st_of_a_second_is_too_much_until_the_first_is_a_second_old() {
    for (at, expected) in [
        (0, Some(Exceeded::Account)),
        (999, Some(Exceeded::Account)),
        (1_000, None),
    ] {
        for enforce in [Enforce::Count, Enforce::Answer] {
            let mut account = full_second(enforce);
            assert_eq!(exceeded(&mut account, "31", at), expected, "{at} ms");
        }
    }
}

#[test]
fn a_window_slides() {
    let mut account = Account::new(TELEGRAM);
    for chat in 1..=60_u64 {
        // 30 in the first second, one every 33 ms, then one for each that leaves.
        let at = (chat - 1) % 30 * 33 + (chat - 1) / 30 * 1_000;
        assert_eq!(exceeded(&mut account, &chat.to_string(), at), None, "{at}");
    }
    let ruling = call(&mut account, "61", 1_999);
    assert_eq!(ruling.exceeded, Some(Exceeded::Account));
    assert_eq!(account.stats(None).most_in_account_window, 30);
}

#[test]
fn what_is_refused_takes_no_place_and_what_is_only_counted_does() {
    for (enforce, after) in [
        (Enforce::Answer, None),
        (Enforce::Count, Some(Exceeded::Account)),
    ] {
        let mut account = full_second(enforce);
        for chat in 31..=60 {
            call(&mut account, &chat.to_string(), 500);
        }
        assert_eq!(exceeded(&mut account, "61", 1_000), after);
        let stats = account.stats(None);
        assert_eq!(stats.arrived, 61);
        assert_eq!(stats.over_limit, 30 + u64::from(after.is_some()));
    }
}

#[test]
fn counting_tells_how_many_there_were_in_a_window() {
    let mut account = full_second(Enforce::Count);
    for chat in 31..=54 {
        call(&mut account, &chat.to_string(), 999);
    }
    call(&mut account, "55", 1_999);
    assert_eq!(account.stats(None).most_in_account_window, 54);
}

#[test]
fn a_chat_has_one_a_second_and_a_burst_if_it_is_given() {
    let spacing = |burst| Limits {
        chat: Some(SpacingLimit {
            spacing_ms: 1_000,
            burst,
        }),
        enforce: Enforce::Count,
        ..NOTHING
    };
    for (burst, times) in [
        (
            1,
            &[(0, true), (999, false), (1_998, false), (2_998, true)][..],
        ),
        (1, &[(0, true), (1_000, true), (2_000, true)]),
        (
            3,
            &[
                (0, true),
                (0, true),
                (0, true),
                (999, false),
                (1_999, true),
                (5_000, true),
                (5_000, true),
                (5_000, true),
                (5_000, false),
            ],
        ),
    ] {
        let mut account = Account::new(spacing(burst));
        for (at, fits) in times {
            let exceeded = exceeded(&mut account, "7", *at);
            assert_eq!(exceeded.is_none(), *fits, "burst {burst}, {at} ms");
            assert_eq!(exceeded.filter(|name| *name != Exceeded::Chat), None);
        }
    }
}

#[test]
fn a_group_has_20_a_minute_and_a_private_chat_has_not() {
    for (chat, expected) in [("-7", Some(Exceeded::Group)), ("7", None), ("@name", None)] {
        let mut account = Account::new(Limits {
            chat: None,
            ..TELEGRAM
        });
        for at in 0..20 {
            assert_eq!(exceeded(&mut account, chat, at * 100), None);
        }
        assert_eq!(exceeded(&mut account, chat, 59_999), expected, "{chat}");
        assert_eq!(exceeded(&mut account, "-8", 59_999), None, "another group");
        // The first is a minute old, and its refusal of a second has passed.
        assert_eq!(exceeded(&mut account, chat, 61_000), None, "{chat}");
    }
}

#[test]
fn time_does_not_go_back() {
    let mut account = full_second(Enforce::Answer);
    assert_eq!(exceeded(&mut account, "31", 1_000), None);
    let ruling = call(&mut account, "32", 999);
    assert_eq!((ruling.arrived, ruling.exceeded), (ms(1_000), None));
}

#[test]
fn limits_change_while_windows_stay() {
    let mut account = full_second(Enforce::Answer);
    let raised = |count| WindowLimit {
        count,
        period_ms: 1_000,
    };
    account.limits.account = Some(raised(31));
    assert_eq!(exceeded(&mut account, "31", 10), None);
    assert_eq!(exceeded(&mut account, "32", 10), Some(Exceeded::Account));
    account.limits.account = Some(raised(5));
    assert_eq!(exceeded(&mut account, "33", 999), Some(Exceeded::Account));
    assert_eq!(exceeded(&mut account, "33", 1_010), None);
    account.limits.account = None;
    for chat in 100..200 {
        assert_eq!(exceeded(&mut account, &chat.to_string(), 1_010), None);
    }
}
