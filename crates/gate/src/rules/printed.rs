//! What the output of a call says about how its runs ended.

use outputs::{ErrorKind, Summary};
use programs::Deed;
use programs::shell::{Intents, Output, SimpleCommand, Word};

use crate::inputs::RecordedCall;
use crate::strength::Strength;

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

    /// Whether a run took place that may have been left out: of tests there is a summary; a check or a build may say so in
    /// other words, if they are its own: `[ -f mypy.ini ] && mypy .; echo ok`.
    pub(crate) fn tells_of_success(
        &self,
        recorded: &RecordedCall,
        command: &SimpleCommand,
        strength: Strength,
    ) -> bool {
        if strength == Strength::Tested {
            return self.tests().is_some();
        }
        let Some(echoed) = echoed_beside(recorded, command) else { return false };
        let printed = recorded.call.snippet.as_deref().unwrap_or_default();
        let is_echoed = |line: &&str| echoed.iter().any(|echoed| echoed.may_be(line));
        printed.lines().filter(|line| !is_echoed(line)).any(speaks_of_success)
    }

    /// Whether the errors that were printed can only be from this command.
    pub(crate) fn errors_are_of(&self, recorded: &RecordedCall, command: &SimpleCommand) -> bool {
        let is_plain = |echoed: &EchoedLine| outputs::shown(&echoed.known).errors.is_empty();
        self.has_errors && echoed_beside(recorded, command).is_some_and(|lines| lines.iter().all(is_plain))
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

/// A line that `echo` or `printf` prints, as far as the command line tells.
struct EchoedLine {
    known: String,
    /// More may follow in the same line.
    is_begin: bool,
}

impl EchoedLine {
    fn may_be(&self, line: &str) -> bool {
        let (line, known) = (line.trim(), self.known.trim());
        line == known || (self.is_begin && !known.is_empty() && line.starts_with(known))
    }
}

/// The lines that are echoed beside this command; `None` if anything else can have printed lines of its own.
fn echoed_beside(recorded: &RecordedCall, command: &SimpleCommand) -> Option<Vec<EchoedLine>> {
    let commands = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
    let (mut echoed, mut is_piped) = (Vec::new(), false);
    for other in commands {
        let only_filters = is_piped && other.only_filters();
        is_piped = other.output != Output::Shown;
        if std::ptr::eq(other, command) || other.prints_nothing() || only_filters {
            continue;
        }
        echoed.extend(echoed_lines(other)?);
    }
    Some(echoed)
}

/// What `echo` or `printf` prints; `None` if it prints what the command line does not name, or is another program.
fn echoed_lines(command: &SimpleCommand) -> Option<Vec<EchoedLine>> {
    let is_option = |word: &&str| word.starts_with('-');
    let words = command.arguments.iter().map(Word::text);
    let goes_on = command.program == "printf" || words.clone().take_while(is_option).any(|word| word == "-n");
    let text = words.skip_while(is_option).collect::<Vec<_>>().join(" ").replace("\\n", "\n");
    let line = |line: &str| match line.split_once(['$', '`', '\\', '%']) {
        None => Some(EchoedLine { known: line.to_owned(), is_begin: goes_on }),
        Some((known, _)) if known.trim().is_empty() => None,
        Some((known, _)) => Some(EchoedLine { known: known.to_owned(), is_begin: true }),
    };
    (command.deed() == Deed::Prints).then(|| text.lines().map(line).collect())?
}
