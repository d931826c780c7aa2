//! Red tests that an earlier stop of the session left behind. Where no more of them fail now, and the agent's own tests
//! passed, they say nothing against the turn: whoever lives with failing tests is not held for them in every turn.

use outputs::Summary;

use super::Failure;
use crate::rules::printed::Printed;
use crate::rules::verification::Showed;
use crate::strength::Strength;
use crate::work::Work;

/// A run of tests that failed, and how many of them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LeftRed {
    /// The runner and what it was to run.
    tests: String,
    failed: u64,
}

impl LeftRed {
    /// `None` if the runner did not say how many failed.
    pub(crate) fn of(failure: &Failure<'_>) -> Option<Self> {
        let Some(Summary::Failed { tests: Some(failed) }) = Printed::of(failure.recorded).tests() else {
            return None;
        };
        let run = failure.runs.iter().find(|run| run.strength == Strength::Tested)?;
        let tests = [std::slice::from_ref(&run.program), &run.targets].concat().join(" ");
        Some(Self { tests, failed })
    }

    /// As it is kept among what the person was told in the session.
    pub(crate) fn report(&self) -> String {
        format!("{}{}", self.key(), self.failed)
    }

    fn key(&self) -> String {
        format!("left red: {}: ", self.tests)
    }

    /// Whether an earlier stop left at least as many behind.
    fn is_known(&self, reported: &[String]) -> bool {
        let key = self.key();
        let mut counts = reported.iter().filter_map(|report| report.strip_prefix(&key)?.parse::<u64>().ok());
        counts.any(|failed| failed >= self.failed)
    }

    /// Whether the turn has nothing to do with it, as far as its own tests show.
    pub(crate) fn is_of_earlier_turn(
        &self,
        failure: &Failure<'_>,
        work: &Work<'_>,
        reported: &[String],
    ) -> bool {
        let last_edit = work.last_edit_of_all();
        let own_passed = || {
            work.verifying_runs().iter().any(|run| {
                run.showed == Showed::Green
                    && run.strength == Strength::Tested
                    && !run.targets.is_empty()
                    && failure.runs.iter().any(|failed| failed.program == run.program)
                    && last_edit.is_none_or(|edit| edit < run.ran.at)
            })
        };
        self.is_known(reported) && own_passed()
    }
}
