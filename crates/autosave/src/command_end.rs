//! How a command of the turn ended, as far as its result, its output and the shell around it show that. A status that the
//! shell or the client hides proves nothing, whichever program it is of.

use std::fmt;

use gate::RecordedCall;
use outputs::Summary;
use programs::Deed;
use programs::shell::{Attribution, Intents, Output, SimpleCommand};
use transcript::Outcome;

/// The worst come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CommandEnd {
    Failed {
        tests: Option<u64>,
        exit_code: Option<i32>,
    },
    /// Its status is hidden, and its output shows errors.
    HiddenWithErrors,
    /// The last look at it found it running.
    Running,
    NotKnown,
    /// Its status is hidden.
    Hidden,
    /// The person rejected or interrupted it.
    Stopped,
    RanNoTests,
    Well,
    Passed {
        tests: Option<u64>,
    },
}

impl CommandEnd {
    pub(crate) fn of(recorded: &RecordedCall) -> Self {
        let call = &recorded.call;
        let (commands, is_understood) = match &recorded.intents {
            Some(Intents::Understood(commands)) => (commands.as_slice(), true),
            Some(Intents::NotUnderstood(_)) | None => (&[] as &[SimpleCommand], false),
        };
        let is_test = commands.iter().any(|command| command.does(Deed::Tests));
        let shown = recorded.shown();
        let summary = shown.summary().filter(|_| is_test);
        let is_proven = || {
            let printed = call.snippet.as_deref().unwrap_or_default();
            let is_proven = |command: &SimpleCommand| {
                // Nothing depends on how these end.
                matches!(command.deed(), Deed::Prints | Deed::Steers)
                    || command.attribution == Attribution::Decides
                    || (command.output != Output::Hidden && command.says_it_is_done(printed))
            };
            is_understood && commands.iter().all(is_proven)
        };
        let hidden = || {
            let may_print_errors = |command: &SimpleCommand| {
                command.output != Output::Hidden && !command.only_looks() && !command.shows_texts()
            };
            let is_red = !shown.errors.is_empty() || matches!(shown.summary(), Some(Summary::Failed { .. }));
            match is_red && commands.iter().any(may_print_errors) {
                true => Self::HiddenWithErrors,
                false => Self::Hidden,
            }
        };
        match (call.outcome, summary) {
            _ if call.user_stopped => Self::Stopped,
            (_, Some(Summary::Failed { tests })) => Self::Failed { tests, exit_code: None },
            (Outcome::Error, _) => Self::Failed { tests: None, exit_code: call.exit_code },
            // What passed so far may be a part of it.
            (Outcome::Unknown, _) if call.is_running => Self::Running,
            (_, Some(Summary::NoTestsRan)) => Self::RanNoTests,
            (_, Some(Summary::Passed { tests })) => Self::Passed { tests },
            (Outcome::Unknown, None) if call.is_status_hidden => hidden(),
            (Outcome::Unknown, None) => Self::NotKnown,
            (Outcome::Ok, None) if is_proven() => Self::Well,
            (Outcome::Ok, None) => hidden(),
        }
    }

    /// Whether it may have failed without anybody having seen it.
    pub(crate) fn may_hide_a_failure(self) -> bool {
        matches!(self, Self::HiddenWithErrors | Self::Running | Self::NotKnown | Self::Hidden)
    }
}

impl fmt::Display for CommandEnd {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Failed { tests: Some(count), .. } => return write!(formatter, "failed ({count} failed)"),
            Self::Failed { exit_code: Some(code), .. } => {
                return write!(formatter, "failed (exit code {code})");
            }
            Self::Failed { .. } => "failed",
            Self::HiddenWithErrors => "ended, its status is hidden, its output shows errors",
            Self::Running => "did not end",
            Self::NotKnown => "outcome unknown",
            Self::Hidden => "ended, its status is hidden",
            Self::Stopped => "was rejected or interrupted",
            Self::RanNoTests => "ran no tests",
            Self::Well => "succeeded",
            Self::Passed { tests: Some(count) } => return write!(formatter, "passed ({count} passed)"),
            Self::Passed { tests: None } => "passed",
        })
    }
}
