//! Deciding by a script.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use serde::Serialize;

use super::{Answer, LatencyMs, Match, Script, ScriptError};
use crate::telegram::Call;

/// What the script makes of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Decision {
    pub(crate) latency: Duration,
    pub(crate) answer: Answer,
}

/// A script in force, and how far it has come.
#[derive(Debug, Clone, Serialize)]
pub struct ScriptReport {
    /// The script.
    pub script: Script,
    /// The seed in use: give it to a script to repeat its draws.
    pub seed: u64,
    /// One count for each rule.
    pub rules: Vec<RuleCount>,
}

/// How often a rule was asked and used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct RuleCount {
    /// Calls whose account, chat and text fit, and that no earlier rule took.
    pub fitted: u64,
    /// Calls that it decided.
    pub used: u64,
}

/// The script in force. Its lock is held for one walk of the rules, never across a wait.
pub(crate) struct Engine {
    state: Mutex<State>,
}

struct State {
    script: Script,
    seed: u64,
    random: StdRng,
    counts: Vec<RuleCount>,
}

impl Engine {
    /// # Errors
    /// [`ScriptError`] if the script is not valid.
    pub(crate) fn new(script: Script) -> Result<Self, ScriptError> {
        script.validate()?;
        Ok(Self {
            state: Mutex::new(State::new(script)),
        })
    }

    /// Puts `script` in force, with counts at zero and its seed anew; returns the seed.
    ///
    /// # Errors
    /// [`ScriptError`] if it is not valid; the one before stays.
    pub(crate) fn replace(&self, script: Script) -> Result<u64, ScriptError> {
        script.validate()?;
        let state = State::new(script);
        let seed = state.seed;
        *self.state() = state;
        Ok(seed)
    }

    pub(crate) fn decide(&self, account: &str, call: &Call) -> Decision {
        self.state().decide(account, call)
    }

    pub(crate) fn report(&self) -> ScriptReport {
        let state = self.state();
        ScriptReport {
            script: state.script.clone(),
            seed: state.seed,
            rules: state.counts.clone(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn new(script: Script) -> Self {
        let seed = script.seed.unwrap_or_else(rand::random);
        tracing::info!(seed, rules = script.rules.len(), "script in force");
        Self {
            counts: vec![RuleCount::default(); script.rules.len()],
            random: StdRng::seed_from_u64(seed),
            seed,
            script,
        }
    }

    fn decide(&mut self, account: &str, call: &Call) -> Decision {
        let Self {
            script,
            random,
            counts,
            ..
        } = self;
        let action = script.rules.iter().zip(counts).find_map(|(rule, count)| {
            let fits = fits(&rule.matcher, account, call);
            (fits && is_used(&rule.matcher, count, random)).then_some(&rule.action)
        });
        let latency = action.and_then(|action| action.latency_ms);
        Decision {
            latency: draw(latency.unwrap_or(script.default_latency_ms), random),
            answer: action.map_or(Answer::Ok, |action| action.answer.clone()),
        }
    }
}

fn fits(matcher: &Match, account: &str, call: &Call) -> bool {
    let equal =
        |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
    equal(&matcher.account, account)
        && equal(&matcher.chat_id, &call.chat_id)
        && matcher
            .text_contains
            .as_deref()
            .is_none_or(|part| call.text.contains(part))
}

/// Counts a call that fits, and says whether the rule takes it.
fn is_used(matcher: &Match, count: &mut RuleCount, random: &mut StdRng) -> bool {
    count.fitted += 1;
    let due = count.fitted > matcher.after && matcher.times.is_none_or(|times| count.used < times);
    let used = due
        && matcher
            .probability
            .is_none_or(|chance| random.random::<f64>() < chance);
    count.used += u64::from(used);
    used
}

fn draw(latency: LatencyMs, random: &mut StdRng) -> Duration {
    Duration::from_millis(match latency {
        LatencyMs::Fixed(fixed) => fixed,
        LatencyMs::Spread { mean, jitter } => {
            random.random_range(mean.saturating_sub(jitter)..=mean.saturating_add(jitter))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Action, Rule};

    fn call(chat_id: &str, text: &str) -> Call {
        Call {
            chat_id: chat_id.to_owned(),
            thread_id: None,
            text: text.to_owned(),
            shown_text: text.to_owned(),
            parse_mode: None,
        }
    }

    fn rule(matcher: Match, answer: Answer) -> Rule {
        Rule {
            name: None,
            matcher,
            action: Action {
                latency_ms: None,
                answer,
            },
        }
    }

    fn answers(script: Script, calls: usize) -> Vec<Answer> {
        let engine = Engine::new(script).unwrap();
        let call = call("7", "order 12 confirmed");
        (0..calls)
            .map(|_| engine.decide("main", &call).answer)
            .collect()
    }

    #[test]
    fn first_rule_that_fits_decides() {
        let rules = vec![
            rule(
                Match {
                    account: Some("other".into()),
                    ..Match::default()
                },
                Answer::Hang,
            ),
            rule(
                Match {
                    chat_id: Some("8".into()),
                    ..Match::default()
                },
                Answer::Hang,
            ),
            rule(
                Match {
                    text_contains: Some("shipped".into()),
                    ..Match::default()
                },
                Answer::Hang,
            ),
            rule(
                Match {
                    text_contains: Some("12".into()),
                    ..Match::default()
                },
                Answer::Lost,
            ),
            rule(Match::default(), Answer::Blocked),
        ];
        let script = Script {
            rules,
            ..Script::default()
        };
        assert_eq!(answers(script, 1), [Answer::Lost]);
    }

    #[test]
    fn after_lets_the_first_by_and_times_ends_it() {
        let matcher = Match {
            after: 1,
            times: Some(2),
            ..Match::default()
        };
        let script = Script {
            rules: vec![rule(matcher, Answer::Lost)],
            ..Script::default()
        };
        assert_eq!(
            answers(script, 5),
            [
                Answer::Ok,
                Answer::Lost,
                Answer::Lost,
                Answer::Ok,
                Answer::Ok
            ]
        );
    }

    #[test]
    fn a_seed_repeats_every_draw() {
        let seeded = |seed| Script {
            seed: Some(seed),
            rules: vec![rule(
                Match {
                    probability: Some(0.5),
                    ..Match::default()
                },
                Answer::Lost,
            )],
            ..Script::default()
        };
        let first = answers(seeded(7), 200);
        assert_eq!(first, answers(seeded(7), 200));
        assert_ne!(first, answers(seeded(8), 200));
        let lost = first
            .iter()
            .filter(|answer| **answer == Answer::Lost)
            .count();
        assert!((50..=150).contains(&lost), "seed 7 lost {lost} of 200");
    }

    #[test]
    fn latency_stays_inside_its_spread() {
        let latency = LatencyMs::Spread {
            mean: 20,
            jitter: 5,
        };
        let engine = Engine::new(Script {
            seed: Some(1),
            default_latency_ms: latency,
            rules: Vec::new(),
        })
        .unwrap();
        for _ in 0..200 {
            let drawn = engine.decide("main", &call("7", "x")).latency.as_millis();
            assert!((15..=25).contains(&drawn), "{drawn} ms");
        }
    }
}
