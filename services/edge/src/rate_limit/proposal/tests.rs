use super::*;

fn limits(write: impl FnOnce(&mut LimitsProposal)) -> Result<ScopeLimits, ProposalError> {
    let mut proposal = LimitsProposal::default();
    write(&mut proposal);
    proposal.scope_limits("telegram")
}

#[test]
fn nothing_written_means_the_platforms_exact_limits() {
    assert_eq!(limits(|_| {}), Ok(exact_limits("telegram")));
}

#[test]
fn a_preset_is_added_and_loosens_nothing() {
    let with = limits(|p| p.preset = Some("telegram-source".into())).unwrap();
    for (before, after) in [
        (exact_limits("telegram").scope, with.scope),
        (exact_limits("telegram").chat, with.chat),
    ] {
        assert!(before.iter().all(|rule| after.contains(rule)));
        assert_eq!(after.len(), before.len() + 1);
    }
}

#[test]
fn without_the_exact_limits_the_written_ones_stand_alone() {
    let alone = limits(|p| {
        p.exact = Some(false);
        p.account = vec!["1000/1s".parse().unwrap()];
    });
    let expected = ScopeLimits {
        scope: vec![Rule::new(Limit::Window {
            count: 1_000,
            period: Duration::from_secs(1),
        })],
        ..ScopeLimits::default()
    };
    assert_eq!(alone, Ok(expected));
}

#[test]
fn a_rate_is_a_bucket_of_its_size() {
    let with = limits(|p| {
        p.rate = Some(2.5);
        p.cost = Some(2);
    });
    let bucket = Limit::TokenBucket {
        micro_tokens_per_second: 2_500_000,
        burst: 3,
        cost: 2,
    };
    assert!(with.unwrap().scope.contains(&Rule::new(bucket)));
}

#[test]
fn headroom_is_the_share_of_every_rule() {
    let with = limits(|p| p.headroom = Some(0.5)).unwrap();
    let all = [with.scope, with.chat, with.group].concat();
    assert_eq!(all.len(), 3);
    assert!(all.iter().all(|rule| rule.headroom_permille == 500));
}

#[test]
fn what_cannot_be_is_named() {
    type Write = fn(&mut LimitsProposal);
    let cases: [(&str, Write); 9] = [
        ("preset", |p| p.preset = Some("fast".into())),
        ("rate", |p| p.rate = Some(f64::NAN)),
        ("rate", |p| p.rate = Some(-1.0)),
        ("rate", |p| p.rate = Some(1e300)),
        ("burst", |p| p.burst = Some(3)),
        ("cost", |p| p.cost = Some(3)),
        ("headroom", |p| p.headroom = Some(0.0)),
        ("headroom", |p| p.headroom = Some(1.5)),
        ("count", |p| p.account = vec!["0/1s".parse().unwrap()]),
    ];
    for (word, write) in cases {
        let text = limits(write).unwrap_err().to_string();
        assert!(text.contains(word), "{text}");
    }
}
