//! What has been found so far, and what runners have said that the next line completes.

use crate::runner::Runner;
use crate::shown::{ErrorKind, ErrorLines, NotStarted, RunResult, RunSummary, Shown, Tool, ToolResult};

/// Blank lines, and what a shell or `time` adds.
const LINES_AFTER_EXCEPTION: u64 = 3;

#[derive(Debug, Default)]
pub(crate) struct Book {
    shown: Shown,
    /// The line that is looked at, counted from 1.
    pub(crate) line: u64,
    /// What unittest ran and has not judged yet.
    pub(crate) ran: Option<u64>,
    /// What Bun passed; its next lines tell how many failed.
    pub(crate) bun: Option<u64>,
    /// What pytest has shown of its progress, which counts if no summary follows.
    pub(crate) progress: Option<Progress>,
    pub(crate) tap: Tap,
    /// Where the last traceback of Python begins, and the exception that ends it.
    pub(crate) traceback: Option<u64>,
    pub(crate) exception: Option<u64>,
    /// The line before was ExUnit's; its summary has the words of others.
    pub(crate) is_exunit: bool,
    /// The line stands further in, as the results of nested tests do.
    pub(crate) is_indented: bool,
}

/// How far a runner has come.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) is_complete: bool,
    pub(crate) line: u64,
}

/// The lines of the Test Anything Protocol, which has a plan and no summary.
#[derive(Debug, Default)]
pub(crate) struct Tap {
    pub(crate) plan: Option<u64>,
    pub(crate) passed: u64,
    pub(crate) skipped: u64,
    pub(crate) failed: u64,
    pub(crate) line: u64,
}

impl Book {
    /// A summary of its own: so many passed, so many failed.
    pub(crate) fn begin(&mut self, runner: Runner, passed: u64, failed: u64) {
        self.push(runner);
        self.change_last(|summary| summary.add(passed, failed));
    }

    /// More of the summary that the same runner has begun, or the first that is seen of it.
    pub(crate) fn extend(&mut self, runner: Runner, passed: u64, failed: u64) {
        self.open(runner);
        self.change_last(|summary| summary.add(passed, failed));
    }

    /// All that the runner has said so far, which it says again at each step.
    pub(crate) fn restate(&mut self, runner: Runner, passed: u64, failed: u64) {
        self.open(runner);
        self.change_last(|summary| {
            let (passed, failed) = (summary.passed.max(passed), summary.failed.max(failed));
            summary.add(passed - summary.passed, failed - summary.failed);
        });
    }

    /// The runner failed; how many tests did is said elsewhere, or not at all.
    pub(crate) fn fail(&mut self, runner: Runner) {
        self.open(runner);
        self.change_last(|summary| summary.result = RunResult::Failed);
    }

    /// The runner passed; it does not say how many tests.
    pub(crate) fn pass(&mut self, runner: Runner) {
        self.open(runner);
        self.change_last(RunSummary::passes);
    }

    /// The summary that the runner has begun, if no other was seen since.
    pub(crate) fn last(&self, runner: Runner) -> Option<&RunSummary> {
        self.shown.summaries.last().filter(|last| last.runner == runner)
    }

    /// Makes sure that the last summary is this runner's.
    fn open(&mut self, runner: Runner) {
        if self.last(runner).is_none() {
            self.push(runner);
        }
    }

    fn push(&mut self, runner: Runner) {
        self.shown.add_summary(RunSummary::new(runner, self.line));
    }

    fn change_last(&mut self, change: impl FnOnce(&mut RunSummary)) {
        if let Some(last) = self.shown.summaries.last_mut() {
            last.line = self.line;
            change(last);
        }
    }

    /// What a tool says about the whole.
    pub(crate) fn tool(&mut self, tool: Tool, succeeded: bool) {
        self.shown.add_tool(ToolResult { tool, succeeded, line: self.line });
    }

    pub(crate) fn error(&mut self, kind: ErrorKind) {
        self.shown.add_errors(ErrorLines { kind, count: 1, first: self.line, last: self.line });
    }

    pub(crate) fn not_started(&mut self, program: &str) {
        self.shown.add_not_started(NotStarted { program: program.to_owned(), line: self.line });
    }

    /// `1..2`, `ok 1 - name`, `not ok 2 - name`: a pass only if the plan is fulfilled.
    pub(crate) fn finish_tap(&mut self) {
        let Tap { plan, passed, skipped, failed, line } = std::mem::take(&mut self.tap);
        if failed > 0 || plan.is_some_and(|plan| plan == passed + skipped) {
            self.begin(Runner::Tap, passed, failed);
            self.change_last(|summary| summary.line = line);
        }
    }

    pub(crate) fn finish(mut self, lines: u64) -> Shown {
        self.finish_tap();
        if let Some(Progress { passed, failed, is_complete, line }) = self.progress.take()
            && (is_complete || failed > 0)
        {
            self.begin(Runner::Pytest, passed, failed);
            self.change_last(|summary| summary.line = line);
        }
        // What a program reports and survives is followed by more.
        if let Some(exception) = self.exception
            && lines <= exception + LINES_AFTER_EXCEPTION
        {
            self.line = exception;
            self.error(ErrorKind::Uncaught);
        }
        self.shown.summaries.sort_by_key(|summary| summary.line);
        self.shown.lines = lines;
        self.shown
    }
}
