//! What `init` and `uninstall` do to one file: planned, shown in a line or as a diff, asked for once, done, reported.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use similar::TextDiff;
use text::{wrap, wrap_behind};
use transcript::{Agent, visible};

use crate::confirmation::{self, Reply};
use crate::error::{CommandError, ErrorKind};
use crate::home_relative::home_relative;
use crate::installed;
use crate::printer::{BAD, DOUBTFUL, FAINT, GOOD, Printer, STRONG};
use crate::settings_file::SettingsFile;

/// A file that is one long line is not shown whole.
const LONGEST_LINE: usize = 2_000;

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "State"))]
#[serde(rename_all = "lowercase")]
pub(crate) enum ChangeState {
    /// It is done, or would be.
    Changed,
    /// Nothing was to be done.
    Unchanged,
    /// It could not be done, and the file is as it was.
    Refused,
}

/// A file in the JSON of `init` and `uninstall`.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "FileChange"))]
pub(crate) struct FileChangeOutput<'a> {
    file: Cow<'a, str>,
    state: ChangeState,
    message: &'a str,
    notes: &'a [String],
    /// A unified diff; empty if nothing changes.
    diff: &'a str,
}

/// What becomes of a client's settings.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Client"))]
pub(crate) struct ClientOutput<'a> {
    pub(crate) agent: Agent,
    #[serde(flatten)]
    pub(crate) change: FileChangeOutput<'a>,
}

#[derive(Debug)]
pub(crate) struct FileChange {
    /// The client, the hook of git's, or `checkstone.toml`.
    pub(crate) subject: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) state: ChangeState,
    /// One sentence: what is done, or why not.
    pub(crate) message: String,
    /// What a person should know besides.
    pub(crate) notes: Vec<String>,
    pub(crate) diff: String,
}

impl FileChange {
    pub(crate) fn new(
        subject: &'static str,
        path: &Path,
        state: ChangeState,
        message: impl Into<String>,
    ) -> Self {
        Self {
            subject,
            path: path.to_owned(),
            state,
            message: message.into(),
            notes: Vec::new(),
            diff: String::new(),
        }
    }

    /// With the difference between two contents; `None` if there is no file.
    pub(crate) fn with_diff(mut self, before: Option<&str>, after: Option<&str>) -> Self {
        let name = self.path.to_string_lossy().into_owned();
        let named = |text: Option<&str>| if text.is_some() { name.clone() } else { "/dev/null".to_owned() };
        self.diff = TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default())
            .unified_diff()
            .header(&named(before), &named(after))
            .to_string();
        self
    }

    /// It was only shown.
    pub(crate) fn not_done(&mut self) {
        if self.state == ChangeState::Changed {
            self.message = format!("`{}` would be changed as shown", home_relative(&self.path));
        }
    }

    /// Does it.
    pub(crate) fn write(&mut self, state: &Path, owner: &str, file: &SettingsFile, text: &str) {
        match installed::write_file(state, owner, file, text) {
            Ok(backup) => {
                let backup = backup
                    .map(|backup| format!("the previous version is kept in `{}`", home_relative(&backup)));
                self.notes.extend(backup);
            }
            Err(error) => self.refuse(&error),
        }
    }

    pub(crate) fn refuse(&mut self, error: &CommandError) {
        self.state = ChangeState::Refused;
        self.message = error.message().to_owned();
        self.notes = error.hints().to_vec();
    }

    pub(crate) fn output(&self) -> FileChangeOutput<'_> {
        FileChangeOutput {
            file: self.path.to_string_lossy(),
            state: self.state,
            message: &self.message,
            notes: &self.notes,
            diff: &self.diff,
        }
    }

    fn shown_diff(&self) -> String {
        let mut text = String::new();
        for line in self.diff.lines() {
            let style = match line.as_bytes().first() {
                Some(b'+') => GOOD,
                Some(b'-') => BAD,
                Some(b'@') => FAINT,
                _ => anstyle::Style::new(),
            };
            let shown = text::head(line, LONGEST_LINE);
            let more = match line.len() - shown.len() {
                0 => String::new(),
                more => format!(" … {more} more bytes"),
            };
            let _ = writeln!(text, "{style}{}{style:#}{more}", visible(shown));
        }
        text
    }

    /// One line before it is done.
    fn planned(&self, width: Option<usize>) -> String {
        match self.state {
            ChangeState::Changed => {
                let file = home_relative(&self.path);
                let lines = |mark: char| self.diff.lines().filter(|line| line.starts_with(mark)).count();
                let (style, mark) = if lines('+') < lines('-') { (BAD, '-') } else { (GOOD, '+') };
                let line = format!("{style}{mark}{style:#} {STRONG}{}{STRONG:#}: `{file}`\n", self.subject);
                line + &self.shown_notes(width)
            }
            ChangeState::Unchanged => String::new(),
            ChangeState::Refused => self.line(width),
        }
    }

    fn shown_notes(&self, width: Option<usize>) -> String {
        let note = |note: &String| format!("  {DOUBTFUL}→{DOUBTFUL:#} {}\n", wrap(&visible(note), 4, width));
        self.notes.iter().map(note).collect()
    }

    fn line(&self, width: Option<usize>) -> String {
        let (style, mark) = match self.state {
            ChangeState::Changed => (GOOD, '✓'),
            ChangeState::Unchanged => (FAINT, '·'),
            ChangeState::Refused => (BAD, '✗'),
        };
        let heading = format!("{}: ", self.subject);
        let message = wrap_behind(&heading, &visible(&self.message), 2, width);
        let line = format!("{style}{mark}{style:#} {STRONG}{}{STRONG:#}: {message}\n", self.subject);
        line + &self.shown_notes(width)
    }
}

/// How a command was asked to go about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    pub(crate) dry_run: bool,
    pub(crate) yes: bool,
    pub(crate) json: bool,
    /// Show the differences, also where nobody is asked.
    pub(crate) diff: bool,
}

/// What came of the question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Answer {
    Go,
    /// The person does not want it.
    No,
    /// It was only to be shown, or there is nothing to do.
    Nothing,
}

impl Manner {
    /// Shows in a few lines what is to be done and asks once; the diffs come for those who want them.
    pub(crate) fn ask(
        self,
        changes: &[&FileChange],
        question: &str,
        printer: &Printer,
    ) -> Result<Answer, CommandError> {
        let pending: Vec<_> = changes.iter().filter(|change| change.state == ChangeState::Changed).collect();
        let show_diffs =
            || pending.iter().for_each(|change| printer.text(&format!("{}\n", change.shown_diff())));
        if !self.json && (self.dry_run || self.diff) {
            show_diffs();
        }
        if self.dry_run || pending.is_empty() {
            return Ok(Answer::Nothing);
        }
        if self.yes {
            return Ok(Answer::Go);
        }
        if !self.json {
            let planned: String =
                changes.iter().map(|change| change.planned(printer.narrow_width())).collect();
            printer.text(&format!("Planned changes:\n{planned}"));
        }
        let preview = "pass `--yes`, or see the differences with `--dry-run`";
        confirmation::must_be_possible("nothing changed", self.json, preview)?;
        loop {
            match confirmation::asked(question, "d shows the differences")? {
                Reply::Yes => return Ok(Answer::Go),
                Reply::No => return Ok(Answer::No),
                Reply::Other(word) if word == "d" => show_diffs(),
                Reply::Other(_) => return Ok(Answer::No),
            }
        }
    }
}

/// Whether every file could be changed.
pub(crate) fn exit_code<'a>(mut changes: impl Iterator<Item = &'a FileChange>) -> ExitCode {
    match changes.any(|change| change.state == ChangeState::Refused) {
        true => ErrorKind::Refused.exit_code(),
        false => ExitCode::SUCCESS,
    }
}

/// One line for each file, and its notes.
pub(crate) fn told(changes: &[&FileChange], width: Option<usize>) -> String {
    changes.iter().map(|change| change.line(width)).collect()
}
