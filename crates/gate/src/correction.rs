//! A verdict that is judged again, because results were written after its stop. It is for the record alone: nobody waits for the
//! answer any more.

use serde::{Deserialize, Serialize};
use text::listed;

use crate::verdict::{Decision, Verdict};

/// What is corrected, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Correction {
    /// The number of the verdict that was wrong.
    pub verdict: i64,
    /// The commands whose results came late.
    pub commands: Vec<String>,
}

impl Correction {
    pub(crate) fn for_the_record(&self, verdict: Verdict) -> Verdict {
        let reason = format!(
            "corrects verdict {}: {} written after that stop; {}",
            self.verdict,
            self.results(),
            verdict.reason
        );
        Verdict {
            decision: Decision::Pass,
            message: None,
            hold: None,
            told_unproven: None,
            reason: reason.into(),
            ..verdict
        }
    }

    /// `the result of `pytest` was`
    pub fn results(&self) -> String {
        let commands = self.commands.iter().map(|command| text::shortened_inside(command, 80));
        match self.commands.len() {
            0 => "calls were".to_owned(),
            1 => format!("the result of {} was", listed(commands)),
            _ => format!("the results of {} were", listed(commands)),
        }
    }
}
