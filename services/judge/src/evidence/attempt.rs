//! The id that every platform call carries: `<message_id>/<owner>/<fence>/<attempt>`.

use std::str::FromStr;

use thiserror::Error;
use uuid::Uuid;

/// One attempt, as named in the header `tidings-attempt`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AttemptId {
    /// The message that the attempt delivers.
    pub message_id: Uuid,
    /// The worker incarnation that made it.
    pub owner: Uuid,
    /// The fence of the claim under which it was made.
    pub fence: i64,
    /// Its number within the message.
    pub attempt: i32,
}

/// A `tidings-attempt` value that does not have its shape.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("not of the shape <message_id>/<owner>/<fence>/<attempt>")]
pub struct UnreadableAttempt;

impl FromStr for AttemptId {
    type Err = UnreadableAttempt;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split('/').collect();
        let [message_id, owner, fence, attempt] = parts[..] else {
            return Err(UnreadableAttempt);
        };
        Ok(Self {
            message_id: message_id.parse().map_err(|_| UnreadableAttempt)?,
            owner: owner.parse().map_err(|_| UnreadableAttempt)?,
            fence: fence.parse().map_err(|_| UnreadableAttempt)?,
            attempt: attempt.parse().map_err(|_| UnreadableAttempt)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_four_parts() {
        let message_id = Uuid::from_u128(1);
        let owner = Uuid::from_u128(2);
        let read: AttemptId = format!("{message_id}/{owner}/3/4").parse().unwrap();
        assert_eq!(
            read,
            AttemptId {
                message_id,
                owner,
                fence: 3,
                attempt: 4
            }
        );
    }

    #[test]
    fn refuses_every_other_shape() {
        let id = Uuid::from_u128(1);
        for text in [
            String::new(),
            "////".to_owned(),
            format!("{id}/{id}/3"),
            format!("{id}/{id}/3/4/5"),
            format!("{id}/{id}/x/4"),
            format!("{id}/{id}/3/99999999999"),
            format!("{id}/worker-1/3/4"),
        ] {
            assert_eq!(text.parse::<AttemptId>(), Err(UnreadableAttempt), "{text}");
        }
    }
}
