//! Posts that should not be, or should be otherwise.

use std::collections::HashSet;

use uuid::Uuid;

use crate::evidence::{Call, Evidence, Scope};
use crate::report::{Counts, Findings};

use super::cases::{Case, Cases};

pub(super) fn judge(
    cases: &Cases<'_>,
    evidence: &Evidence,
    counts: &mut Counts,
    findings: &mut Findings,
) {
    counts.calls = evidence.calls.len() as u64;
    for case in &cases.all {
        for post in case.posts() {
            check_post(case, post.call, counts, findings);
        }
    }
    let scope = ScopeOfPosts::of(evidence);
    for (message_id, call) in &cases.strays {
        match scope.trespass(*message_id, call) {
            Some(what) => {
                counts.posted_uncommitted += 1;
                findings.add("posted_uncommitted", || {
                    let id = message_id.map_or_else(|| "no id".to_owned(), |id| id.to_string());
                    format!("{id} {} by call {}: {what}", address_of(call), call.seq)
                });
            }
            None => counts.foreign_posts += 1,
        }
    }
}

fn check_post(case: &Case<'_>, call: &Call, counts: &mut Counts, findings: &mut Findings) {
    if address_of(call) != address(&case.row.chat) {
        counts.wrong_chat += 1;
        findings.add("wrong_chat", || {
            format!(
                "{}: call {} went to {}",
                case.label(),
                call.seq,
                address_of(call)
            )
        });
    }
    let text = call.text.as_deref().unwrap_or_default();
    if !text.contains(&case.row.marker) {
        counts.wrong_text += 1;
        findings.add("wrong_text", || {
            let marker = &case.row.marker;
            format!("{}: call {} lacks `{marker}`", case.label(), call.seq)
        });
    }
}

/// Which posts that belong to no committed message concern the judged run.
struct ScopeOfPosts<'e> {
    every_run: bool,
    rolled_back: HashSet<Uuid>,
    addresses: HashSet<&'e str>,
}

impl<'e> ScopeOfPosts<'e> {
    fn of(evidence: &'e Evidence) -> Self {
        let committed = evidence.ledger.iter().map(|row| row.chat.as_str());
        let rolled_back = evidence.rolled_back.iter().map(|row| row.chat.as_str());
        Self {
            every_run: evidence.scope == Scope::EveryRun,
            rolled_back: evidence
                .rolled_back
                .iter()
                .map(|row| row.message_id)
                .collect(),
            addresses: committed.chain(rolled_back).map(address).collect(),
        }
    }

    fn trespass(&self, message_id: Option<Uuid>, call: &Call) -> Option<&'static str> {
        if message_id.is_some_and(|id| self.rolled_back.contains(&id)) {
            return Some("its transaction was rolled back");
        }
        let concerns = self.every_run || self.addresses.contains(address_of(call).as_str());
        let what = match message_id {
            Some(_) => "no ledger row has this id",
            None => "no readable tidings-attempt header",
        };
        concerns.then_some(what)
    }
}

/// `account:chat_id` of a chat key `platform:account:chat_id`; the simulator knows no platform.
fn address(chat_key: &str) -> &str {
    chat_key.split_once(':').map_or(chat_key, |(_, rest)| rest)
}

fn address_of(call: &Call) -> String {
    format!("{}:{}", call.account, call.chat_id)
}
