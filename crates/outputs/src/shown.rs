//! What was seen in an output, as small plain data that can be kept with the command. Everything has the number of its
//! line, so that the parts of an output can be told apart by their order.

use serde::{Deserialize, Serialize};

use crate::runner::Runner;

/// More than a person would put into one command.
const MOST_SUMMARIES: usize = 32;
const MOST_TOOLS: usize = 8;
const MOST_NOT_STARTED: usize = 4;

/// What an output shows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Shown {
    /// Summaries of test runners, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<RunSummary>,
    /// What tools that run other things say about the whole, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolResult>,
    /// Lines that only something broken prints, one entry for each kind. A program that works may print them too: they
    /// count only if the status of the command is not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ErrorLines>,
    /// Programs that could not be started, or did not understand their command line.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_started: Vec<NotStarted>,
    /// How many lines the output has.
    pub lines: u64,
}

/// What one run of a test runner says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSummary {
    pub runner: Runner,
    pub result: RunResult,
    /// Zero if the runner does not say how many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub passed: u64,
    /// Zero if the runner does not say how many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u64,
    /// The last line of the summary, counted from 1.
    pub line: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RunResult {
    Passed,
    Failed,
    /// A runner ran and found nothing to do. It proves nothing.
    NothingRan,
}

/// What a tool that runs other things says about the whole. It may have run tests, or not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ToolResult {
    pub tool: Tool,
    pub succeeded: bool,
    /// Counted from 1.
    pub line: u64,
}

/// Tools that say how the whole of their work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Tool {
    Cargo,
    Dotnet,
    Gradle,
    Maven,
    Nox,
    Sbt,
    Swift,
    Tox,
    Xcodebuild,
}

/// The lines of one kind that only something broken prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorLines {
    pub kind: ErrorKind,
    pub count: u64,
    /// The first of the lines, counted from 1.
    pub first: u64,
    pub last: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// An error of a compiler or linter with its place: `src/a.c:3:4: error: …`, `a.go:3:4: undefined: x`.
    Located,
    /// An error with its code: `error[E0308]: …`, `error TS2304: …`.
    Coded,
    /// How many errors there were: `Found 3 errors.`
    Counted,
    /// A line that begins with `error:`.
    Plain,
    /// The name of a test that failed: `FAILED tests/test_a.py::test_x`.
    FailedTest,
    /// A tool that gave up: `make: *** [Makefile:2: test] Error 1`.
    GaveUp,
    /// An exception or panic that nothing caught, as the end of the output.
    Uncaught,
}

/// A program that could not be started, or did not understand its command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NotStarted {
    /// As the shell or the program itself names it; empty if neither does.
    pub program: String,
    /// Counted from 1.
    pub line: u64,
}

/// What all the summaries in an output say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Summary {
    /// `None`: the runner does not say how many.
    Passed { tests: Option<u64> },
    /// `None`: the runner does not say how many, or it did not come that far.
    Failed { tests: Option<u64> },
    /// A runner ran and found nothing to do. It proves nothing.
    NoTestsRan,
}

impl Shown {
    /// Whether there is nothing to be kept.
    pub fn is_empty(&self) -> bool {
        self.summaries.is_empty()
            && self.tools.is_empty()
            && self.errors.is_empty()
            && self.not_started.is_empty()
    }

    /// What the summaries say together: a workspace has several, and one that failed is enough. A tool's own word for the
    /// whole counts if no runner says anything.
    pub fn summary(&self) -> Option<Summary> {
        let counted = |tests: u64| Some(tests).filter(|tests| *tests > 0);
        let has = |result| self.summaries.iter().any(|summary| summary.result == result);
        if has(RunResult::Failed) || self.tools.iter().any(|tool| !tool.succeeded) {
            return Some(Summary::Failed { tests: counted(self.sum(|one| one.failed)) });
        }
        if has(RunResult::Passed) {
            return Some(Summary::Passed { tests: counted(self.sum(|one| one.passed)) });
        }
        if has(RunResult::NothingRan) {
            return Some(Summary::NoTestsRan);
        }
        self.tools
            .iter()
            .any(|tool| tool.tool.tests_what_it_builds())
            .then_some(Summary::Passed { tests: None })
    }
}

impl Shown {
    /// What a later part of the same output shows.
    pub fn append(&mut self, later: Self) {
        let before = self.lines;
        let moved = |line: u64| line.saturating_add(before);
        for one in later.summaries {
            self.add_summary(RunSummary { line: moved(one.line), ..one });
        }
        for one in later.tools {
            self.add_tool(ToolResult { line: moved(one.line), ..one });
        }
        for one in later.not_started {
            self.add_not_started(NotStarted { line: moved(one.line), ..one });
        }
        for one in later.errors {
            self.add_errors(ErrorLines { first: moved(one.first), last: moved(one.last), ..one });
        }
        self.lines = moved(later.lines);
    }

    /// If there are too many, the last one stands for all that come after it.
    pub(crate) fn add_summary(&mut self, summary: RunSummary) {
        if self.summaries.len() < MOST_SUMMARIES {
            self.summaries.push(summary);
        } else if let Some(last) = self.summaries.last_mut() {
            last.absorb(&summary);
        }
    }

    /// If there are too many, a failure among them is not forgotten.
    pub(crate) fn add_tool(&mut self, result: ToolResult) {
        if self.tools.len() < MOST_TOOLS {
            self.tools.push(result);
        } else if let Some(last) = self.tools.last_mut() {
            last.succeeded &= result.succeeded;
            last.line = result.line;
        }
    }

    pub(crate) fn add_errors(&mut self, lines: ErrorLines) {
        match self.errors.iter_mut().find(|known| known.kind == lines.kind) {
            Some(known) => {
                known.count = known.count.saturating_add(lines.count);
                known.last = lines.last;
            }
            None => self.errors.push(lines),
        }
    }

    pub(crate) fn add_not_started(&mut self, program: NotStarted) {
        if self.not_started.len() < MOST_NOT_STARTED {
            self.not_started.push(program);
        }
    }

    /// Nothing that is printed can be trusted to stay below the largest number.
    fn sum(&self, of: impl Fn(&RunSummary) -> u64) -> u64 {
        self.summaries.iter().fold(0, |sum, one| sum.saturating_add(of(one)))
    }
}

impl Tool {
    /// Sessions of tox and nox may be anything: a linter as well as tests.
    fn tests_what_it_builds(self) -> bool {
        matches!(self, Self::Gradle)
    }
}

impl RunSummary {
    pub(crate) fn new(runner: Runner, line: u64) -> Self {
        Self { runner, result: RunResult::NothingRan, passed: 0, failed: 0, line }
    }

    pub(crate) fn add(&mut self, passed: u64, failed: u64) {
        self.passed = self.passed.saturating_add(passed);
        self.failed = self.failed.saturating_add(failed);
        if failed > 0 {
            self.result = RunResult::Failed;
        } else if passed > 0 {
            self.passes();
        }
    }

    /// Says what a later one says too.
    fn absorb(&mut self, later: &Self) {
        self.add(later.passed, later.failed);
        match later.result {
            RunResult::Failed => self.result = RunResult::Failed,
            RunResult::Passed => self.passes(),
            RunResult::NothingRan => {}
        }
        self.line = later.line;
    }

    /// A pass, of how many tests is not known; it takes no failure back.
    pub(crate) fn passes(&mut self) {
        if self.result == RunResult::NothingRan {
            self.result = RunResult::Passed;
        }
    }
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}
