//! The deadline of a query, and the two ways a query fails.

use std::fmt;
use std::time::{Duration, Instant};

use crate::query::parse::error::ParamError;
use crate::snapshot::MayBeAbsent;
use crate::storage::ReadError;

/// Why a query has no result.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The snapshot is damaged.
    #[error(transparent)]
    Damaged(#[from] ReadError),
    /// The query would take more time or memory than it may.
    #[error("{} {}", .error.text, .error.reason)]
    Refused {
        /// The parameter that asks for too much.
        parameter: &'static str,
        /// What would narrow it.
        error: ParamError,
    },
    /// The query reached its deadline.
    #[error("the query reached its deadline")]
    Deadline,
}

impl MayBeAbsent for QueryError {
    fn is_absent(&self) -> bool {
        matches!(self, QueryError::Damaged(error) if error.is_absent())
    }
}

impl QueryError {
    /// Refuses the value of a parameter.
    pub(in crate::query) fn refused(
        parameter: &'static str,
        text: &str,
        reason: String,
    ) -> QueryError {
        QueryError::Refused { parameter, error: ParamError::new(text, reason) }
    }
}

/// When a query stops without a result.
#[derive(Clone, Copy)]
pub struct Deadline<'a> {
    instant: Option<Instant>,
    is_over: Option<&'a dyn Fn() -> bool>,
    allowed: Option<Duration>,
}

impl fmt::Debug for Deadline<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deadline").field("instant", &self.instant).finish_non_exhaustive()
    }
}

/// Steps between two checks of a [`PacedDeadline`]. A step may be a seek in each word of a search; a check takes as long as
/// one of these seeks.
const STEPS_PER_CHECK: u32 = 256;

/// A deadline that a loop checks once in 256 steps.
pub(in crate::query) struct PacedDeadline<'a> {
    deadline: Deadline<'a>,
    steps: u32,
}

impl PacedDeadline<'_> {
    /// Counts a step.
    ///
    /// # Errors
    ///
    /// [`QueryError::Deadline`] once the deadline has passed.
    #[inline]
    pub fn step(&mut self) -> Result<(), QueryError> {
        self.steps += 1;
        if self.steps < STEPS_PER_CHECK {
            return Ok(());
        }
        self.steps = 0;
        self.deadline.check()
    }
}

impl<'a> Deadline<'a> {
    /// No deadline.
    pub const NEVER: Deadline<'static> = Deadline { instant: None, is_over: None, allowed: None };

    /// Stops the query at `instant`.
    pub fn at(instant: Instant) -> Deadline<'static> {
        Deadline { instant: Some(instant), ..Deadline::NEVER }
    }

    /// Stops the query once `is_over` returns true. The query calls `is_over` at most once a row.
    pub fn when(is_over: &'a dyn Fn() -> bool) -> Deadline<'a> {
        Deadline { is_over: Some(is_over), ..Deadline::NEVER }
    }

    /// States how much time the work may take. A query that would surely take longer is refused before it begins.
    pub fn allowing(self, time: Duration) -> Deadline<'a> {
        Deadline { allowed: Some(time), ..self }
    }

    /// The time that the work may take, if it is stated.
    pub(in crate::query) fn allowed(self) -> Option<Duration> {
        self.allowed
    }

    /// The deadline for a loop of many short steps.
    pub(in crate::query) fn paced(self) -> PacedDeadline<'a> {
        PacedDeadline { deadline: self, steps: 0 }
    }

    /// Checks the deadline before more work.
    ///
    /// # Errors
    ///
    /// [`QueryError::Deadline`] once the deadline has passed.
    pub fn check(self) -> Result<(), QueryError> {
        let has_passed = self.instant.is_some_and(|instant| Instant::now() >= instant);
        if has_passed || self.is_over.is_some_and(|is_over| is_over()) {
            return Err(QueryError::Deadline);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paced_deadline_ends_a_loop_of_short_steps() {
        let mut pace = Deadline::when(&|| true).paced();
        let steps = (0..10 * STEPS_PER_CHECK).take_while(|_| pace.step().is_ok()).count();
        assert_eq!(steps as u32, STEPS_PER_CHECK - 1);
        let mut pace = Deadline::NEVER.paced();
        assert!((0..10 * STEPS_PER_CHECK).all(|_| pace.step().is_ok()));
    }
}
