//! When to ask, and for what.
//!
//! The worker has the machine, so it asks when the machine will grant: when its turn has come, by the line that all
//! replicas know, and when as many permits as it may get fit into the horizon. So workers that are all saturated ask one
//! after the other, each for its whole share, and hardly any record is spent on a refusal.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::wants::{Outstanding, OutstandingAsk, Queue, WantState};
use super::{Effect, Limiter, PermitId};
use crate::machine::{HORIZON, Plan};
use crate::record::{Ask, Body, Entry, MAX_ASKS, MAX_ENTRIES, Reserve};
use crate::time::micros;
use crate::{Class, LogTime, Moment, RefusedWhy};

/// How many messages are looked at for one permit, before the rest is left for the next look.
const LOOKED_AT: usize = 64;
/// When to look again at a second message of a chat that is being asked for.
const SAME_CHAT_WAIT: Duration = Duration::from_millis(50);

type Key = (Arc<str>, Class);
/// What is asked for, by chat.
type Picked = Vec<(Arc<str>, Vec<PermitId>)>;
/// Who waits for its chat, until when, and why.
type Aside = (PermitId, LogTime, RefusedWhy);

impl Limiter {
    /// Asks for everything whose time has come: one record a class.
    pub(super) fn ask(&mut self, now: Moment, effects: &mut Vec<Effect>) {
        for class in Class::ALL {
            let due = |(key, queue): (&Key, &Queue)| {
                (key.1 == class && queue.due().is_some_and(|at| at <= now)).then(|| key.clone())
            };
            let due: Vec<Key> = self.queues.iter().filter_map(due).collect();
            let (mut asks, mut expected, mut entries) = (Vec::new(), Vec::new(), 0);
            for key in due {
                if asks.len() >= MAX_ASKS || entries >= MAX_ENTRIES {
                    break;
                }
                if let Some((ask, wanted)) = self.ask_of(&key, MAX_ENTRIES - entries, now, effects)
                {
                    entries += ask.entries.len();
                    asks.push(ask);
                    expected.push(wanted);
                }
            }
            if !asks.is_empty() {
                self.reserve(class, asks, expected, now, effects);
            }
        }
    }

    fn reserve(
        &mut self,
        class: Class,
        asks: Vec<Ask>,
        expected: Vec<OutstandingAsk>,
        now: Moment,
        effects: &mut Vec<Effect>,
    ) {
        self.next_seq += 1;
        let seq = self.next_seq;
        for ask in &expected {
            if let Some(queue) = self.queues.get_mut(&(ask.scope.clone(), class)) {
                queue.asked = Some(seq);
            }
            for permit in ask.entries.iter().flatten() {
                if let Some(want) = self.wants.get_mut(permit) {
                    want.state = WantState::Asked;
                }
            }
        }
        let body = Body::Reserve(Reserve {
            incarnation: self.options.incarnation,
            seq,
            class,
            leeway: self.leeway.current(),
            asks,
        });
        let append = self.append(body, effects);
        self.counts.asks += 1;
        let outstanding = Outstanding {
            append,
            sent: now,
            class,
            leeway: self.leeway.current(),
            asks: expected,
        };
        self.outstanding.insert(seq, outstanding);
    }

    /// What to ask for in one scope, if now is the time; else notes when it will be.
    fn ask_of(
        &mut self,
        key: &Key,
        most: usize,
        now: Moment,
        effects: &mut Vec<Effect>,
    ) -> Option<(Ask, OutstandingAsk)> {
        let time = self.clock.estimate(now);
        let plan = self
            .machine
            .plan(&key.0, self.options.incarnation, key.1, time);
        if plan.is_none() {
            // Nobody began the scope yet; its record makes us look again.
            self.queues.get_mut(key)?.ask_at = None;
        }
        let plan = plan?;
        self.unblock(key, plan.slot.max(time));
        let wake = self.when(key, &plan, time);
        let queue = self.queues.get_mut(key)?;
        let at = wake.map(|at| {
            now.after(self.clock.wait_for(at, now))
                .max(queue.not_before)
        });
        queue.ask_at = at;
        if at.is_none_or(|at| at > now) || queue.ready.is_empty() {
            return None;
        }
        let (picked, aside) = self.pick(key, &plan, most, time, now);
        self.set_aside(aside, time, now, effects);
        let queue = self.queues.get_mut(key)?;
        if picked.is_empty() {
            queue.ask_at = Some(now).filter(|_| !queue.ready.is_empty());
            if queue.ask_at.is_none() {
                let wait = |(at, _): &(LogTime, u64)| now.after(self.clock.wait_for(*at, now));
                queue.ask_at = queue.blocked.keys().next().map(wait);
            }
            return None;
        }
        let waiting = u32::try_from(queue.ready.len()).unwrap_or(u32::MAX);
        let entries = picked.iter().map(|(chat, permits)| Entry {
            chat: chat.to_string(),
            n: u32::try_from(permits.len()).unwrap_or(u32::MAX),
        });
        let ask = Ask {
            scope: key.0.to_string(),
            waiting,
            entries: entries.collect(),
        };
        let orders: Vec<u64> = picked
            .iter()
            .flat_map(|(_, permits)| permits)
            .filter_map(|permit| self.wants.get(permit).map(|want| want.order))
            .collect();
        for order in orders {
            queue.ready.remove(&order);
        }
        let wanted = OutstandingAsk {
            scope: key.0.clone(),
            entries: picked.into_iter().map(|(_, permits)| permits).collect(),
        };
        Some((ask, wanted))
    }

    /// When to ask for what is ready, or to look again; the past means now.
    fn when(&self, key: &Key, plan: &Plan, time: LogTime) -> Option<LogTime> {
        let queue = self.queues.get(key)?;
        let first_blocked = queue.blocked.keys().next().map(|(at, _)| *at);
        if queue.ready.is_empty() {
            return first_blocked;
        }
        let at = self.when_granted(plan, queue.ready.len(), time);
        Some(first_blocked.map_or(at, |blocked| blocked.max(time).min(at)))
    }

    fn when_granted(&self, plan: &Plan, ready: usize, time: LogTime) -> LogTime {
        let horizon = plan.reach.0.saturating_sub(time.0);
        let lead = micros(self.options.lead).min(horizon / 2);
        if plan.preceded {
            // Registered, so that the wait is counted; then again at the turn, or when a slot is owed.
            let turn = plan.turn.unwrap_or(time).max(time);
            let owed_at = plan.owed_at.filter(|owed| *owed > time);
            return owed_at.map_or(turn, |owed| owed.min(turn));
        }
        let late = LogTime(plan.slot.0.saturating_sub(lead));
        if plan.turn.is_none() && !plan.held && plan.slot <= plan.reach.after(HORIZON) {
            // A place in the line, or what is free.
            return time;
        }
        let count = ready.min(plan.share).min(self.chunk(plan, horizon, lead));
        let places = plan.ahead.saturating_add(count).saturating_sub(1);
        let last = plan
            .pace_micros
            .saturating_mul(i64::try_from(places).unwrap_or(i64::MAX));
        let fits = LogTime(plan.slot.0.saturating_add(last).saturating_sub(horizon));
        fits.min(late)
    }

    /// How many permits to ask for at once: what the horizon holds, less the lead.
    fn chunk(&self, plan: &Plan, horizon: i64, lead: i64) -> usize {
        if plan.pace_micros == 0 {
            return usize::MAX;
        }
        usize::try_from((horizon - lead) / plan.pace_micros.max(1))
            .unwrap_or(0)
            .max(1)
    }

    /// The first messages that can be served, by chat, and those before them whose chats are not ready.
    fn pick(
        &self,
        key: &Key,
        plan: &Plan,
        most: usize,
        time: LogTime,
        now: Moment,
    ) -> (Picked, Vec<Aside>) {
        let most = plan.share.min(most);
        let mut picked = Picked::new();
        let mut chats = BTreeSet::new();
        let mut aside = Vec::new();
        let looked_at = most.saturating_mul(4).saturating_add(LOOKED_AT);
        let ready = self
            .queues
            .get(key)
            .into_iter()
            .flat_map(|queue| queue.ready.values());
        for &permit in ready.take(looked_at) {
            if picked.len() >= most {
                break;
            }
            let Some(want) = self.wants.get(&permit) else {
                continue;
            };
            let places = i64::try_from(picked.len()).unwrap_or(i64::MAX);
            let slot = LogTime(
                plan.slot
                    .0
                    .saturating_add(plan.pace_micros.saturating_mul(places)),
            );
            match self.not_ready(&key.0, &want.chat, &chats, slot, time, now) {
                Some((until, why)) => aside.push((permit, until, why)),
                None => {
                    chats.insert(want.chat.clone());
                    picked.push((want.chat.clone(), vec![permit]));
                }
            }
        }
        (picked, aside)
    }

    /// Whoever wants them hears of the wait, although no record refuses them.
    fn set_aside(
        &mut self,
        aside: Vec<Aside>,
        time: LogTime,
        now: Moment,
        effects: &mut Vec<Effect>,
    ) {
        for (permit, until, why) in aside {
            self.requeue(permit, Some(until), now);
            self.tell(permit, why, time.until(until), effects);
        }
    }

    /// Until when, and why, a chat has to wait beyond the slot.
    fn not_ready(
        &self,
        scope: &str,
        chat: &Arc<str>,
        taken: &BTreeSet<Arc<str>>,
        slot: LogTime,
        time: LogTime,
        now: Moment,
    ) -> Option<(LogTime, RefusedWhy)> {
        let held = self.holds.until(scope, chat, now);
        if let Some(until) = held
            .map(|until| time.after(now.until(until)))
            .filter(|until| *until > slot)
        {
            let why = match self.holds.until_all(scope, now) {
                Some(all) if time.after(now.until(all)) >= until => RefusedWhy::Held,
                Some(_) | None => RefusedWhy::ChatHeld,
            };
            return Some((until, why));
        }
        if taken.contains(chat) && self.machine.limits_chat(scope, chat) {
            return Some((time.after(SAME_CHAT_WAIT), RefusedWhy::Chat));
        }
        let (ready, held) = self.machine.chat_ready(scope, chat)?;
        let why = if held {
            RefusedWhy::ChatHeld
        } else {
            RefusedWhy::Chat
        };
        (ready > slot).then_some((ready, why))
    }
}
