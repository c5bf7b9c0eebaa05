//! Faults for tests and drills. They reach servers of this stack only, by the process that the stack started.

use crate::error::StackError;
use crate::part::Part;
use crate::stack::Stack;

impl Stack {
    /// The process of a part, or `None` if it does not run.
    ///
    /// # Errors
    /// [`StackError::NotOurs`] for an existing server, here and in all that follow.
    pub async fn pid(&self, part: Part) -> Result<Option<u32>, StackError> {
        Ok(self.supervised(part)?.pid().await)
    }

    /// Kills a part with SIGKILL, its own children too, and returns when all are gone.
    ///
    /// # Errors
    /// [`StackError::NotRunning`]; [`StackError::Process`] if the system refuses.
    pub async fn kill(&self, part: Part) -> Result<(), StackError> {
        self.supervised(part)?.kill().await
    }

    /// Stops a part in order; kills it after the stop deadline.
    ///
    /// # Errors
    /// [`StackError::NotRunning`]; [`StackError::Process`] if the system refuses.
    pub async fn stop_part(&self, part: Part) -> Result<(), StackError> {
        self.supervised(part)?.stop().await
    }

    /// Starts a part that was stopped or killed, on the same address and data, and waits until it is healthy.
    ///
    /// # Errors
    /// [`StackError::AlreadyRunning`]; else as [`Stack::start`].
    pub async fn start_part(&self, part: Part) -> Result<(), StackError> {
        self.supervised(part)?.start_again().await
    }

    /// [Kills](Stack::kill) a part and [starts](Stack::start_part) it again.
    ///
    /// # Errors
    /// As those two.
    pub async fn restart(&self, part: Part) -> Result<(), StackError> {
        self.kill(part).await?;
        self.start_part(part).await
    }

    /// Freezes a part: its connections stay open, and nothing answers.
    ///
    /// # Errors
    /// [`StackError::NotRunning`]; [`StackError::Process`] if the system refuses.
    pub async fn pause(&self, part: Part) -> Result<(), StackError> {
        self.supervised(part)?.pause().await
    }

    /// Lets a paused part run on.
    ///
    /// # Errors
    /// [`StackError::NotRunning`]; [`StackError::Process`] if the system refuses.
    pub async fn resume(&self, part: Part) -> Result<(), StackError> {
        self.supervised(part)?.resume().await
    }
}
