//! What the output of a call says about how its runs ended.

use outputs::{ErrorKind, Summary};
use programs::Deed;
use programs::shell::{Intents, SimpleCommand, Word};

use crate::inputs::RecordedCall;

/// What a call printed, as far as it says how runs ended.
pub(crate) struct Printed {
    pub(crate) summary: Option<Summary>,
    /// The summary is from a runner of tests, and not a build tool's word for the whole.
    is_of_tests: bool,
    /// Lines that only something broken prints.
    pub(crate) has_errors: bool,
    /// More of them than lines that any program may begin with `error:`.
    pub(crate) has_code_errors: bool,
    /// A tool says that the whole of its work failed.
    pub(crate) has_failed_tool: bool,
    /// A program could not be started, or did not understand its command line.
    pub(crate) not_started: bool,
}

impl Printed {
    pub(crate) fn of(recorded: &RecordedCall) -> Self {
        let shown = recorded.shown();
        let summary = shown.summary();
        Self {
            summary,
            is_of_tests: !shown.summaries.is_empty() || matches!(summary, Some(Summary::Passed { .. })),
            has_errors: !shown.errors.is_empty(),
            has_code_errors: shown.errors.iter().any(|errors| errors.kind != ErrorKind::Plain),
            has_failed_tool: shown.tools.iter().any(|tool| !tool.succeeded),
            not_started: !shown.not_started.is_empty(),
        }
    }

    /// A program could not be started or understood none of its words, and nothing ran in its place.
    pub(crate) fn did_not_start(&self) -> bool {
        self.not_started && self.summary.is_none()
    }

    /// How tests went that ran.
    pub(crate) fn tests(&self) -> Option<Summary> {
        self.summary.filter(|summary| self.is_of_tests && *summary != Summary::NoTestsRan)
    }

    /// Tests ran, and some of them failed: what could not be compiled has no count.
    pub(crate) fn tests_failed(&self) -> bool {
        matches!(self.tests(), Some(Summary::Failed { tests: Some(_) }))
    }

    /// Whether tests ran, in the words of a runner or in others: `ok`, `all passed`.
    pub(crate) fn tells_of_tests(&self, recorded: &RecordedCall) -> bool {
        self.tests().is_some() || speaks_of_success(recorded.call.snippet.as_deref().unwrap_or_default())
    }

    /// The same of tests, checks or builds, in other words than those that the command line itself prints:
    /// `[ -f mypy.ini ] && mypy .; echo ok`.
    pub(crate) fn tells_of_success(&self, recorded: &RecordedCall) -> bool {
        let printed = recorded.call.snippet.as_deref().unwrap_or_default();
        let commands = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
        let is_own = |line: &&str| commands.iter().any(|command| may_have_echoed(command, line));
        self.tests().is_some() || printed.lines().filter(|line| !is_own(line)).any(speaks_of_success)
    }

    /// A runner ran and found nothing to do, and nothing else went wrong.
    pub(crate) fn ran_nothing(&self) -> bool {
        self.summary == Some(Summary::NoTestsRan) && !self.has_errors
    }

    /// Whether the shell says that this program was killed: `bash: line 1:  4242 Killed                  pytest -q`.
    pub(crate) fn says_killed(recorded: &RecordedCall, program: &str) -> bool {
        let printed = recorded.call.snippet.as_deref().unwrap_or_default();
        printed.lines().any(|line| match line.trim().split_once("Killed") {
            Some(("", "")) => true,
            Some((shell, started)) => shell.contains(": line ") && started.contains(program),
            None => false,
        })
    }

    /// Whether it tells of failures or errors.
    pub(crate) fn is_red(&self) -> bool {
        self.has_errors || matches!(self.summary, Some(Summary::Failed { .. }))
    }
}

fn speaks_of_success(text: &str) -> bool {
    const WORDS: [&str; 7] = ["pass", "passed", "passes", "ok", "success", "succeeded", "successful"];
    let text = text.to_lowercase();
    let mut words = text.split(|character: char| !character.is_alphanumeric());
    words.any(|word| WORDS.contains(&word)) || text.contains(['✓', '✔'])
}

/// Whether `echo` or `printf` may have printed this line.
fn may_have_echoed(command: &SimpleCommand, line: &str) -> bool {
    if command.deed() != Deed::Prints {
        return false;
    }
    let words = command.arguments.iter().map(Word::text).skip_while(|word| word.starts_with('-'));
    let text = words.collect::<Vec<_>>().join(" ");
    match text.split_once(['$', '`', '\\', '%']) {
        None => line.trim() == text.trim(),
        Some((known, _)) => !known.trim().is_empty() && line.trim_start().starts_with(known.trim()),
    }
}
