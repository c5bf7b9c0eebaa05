//! What one business transaction does.

use crate::event::Event;
use crate::order::{Habits, OrderPlan};
use crate::{LoadOptions, event};

/// One transaction of an order.
pub(crate) struct Work<'p> {
    pub(crate) plan: &'p OrderPlan,
    pub(crate) step: Step,
    pub(crate) events: Vec<Event>,
}

/// Which of an order's two transactions it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Confirm,
    Ship,
}

impl<'p> Work<'p> {
    pub(crate) fn confirm(plan: &'p OrderPlan) -> Self {
        Self {
            plan,
            step: Step::Confirm,
            events: event::confirmed(plan),
        }
    }

    /// `now_micros` since the Unix epoch.
    pub(crate) fn ship(plan: &'p OrderPlan, now_micros: i64) -> Self {
        Self {
            plan,
            step: Step::Ship,
            events: vec![event::shipped(plan, now_micros)],
        }
    }

    pub(crate) fn habits(&self) -> &'p Habits {
        match self.step {
            Step::Confirm => &self.plan.confirm,
            Step::Ship => &self.plan.ship,
        }
    }

    /// The lane, which is also the priority.
    pub(crate) fn lane(&self) -> &'static str {
        if self.habits().high { "high" } else { "normal" }
    }

    /// The chat key.
    pub(crate) fn chat(&self, options: &LoadOptions) -> String {
        format!("telegram:{}:{}", options.account, self.plan.chat_id)
    }

    /// The destination for `tidings.publish`.
    pub(crate) fn destination(&self, options: &LoadOptions) -> String {
        serde_json::json!({
            "platform": "telegram",
            "account": options.account,
            "chat_id": self.plan.chat_id.to_string(),
        })
        .to_string()
    }
}
