//! All output goes through here: data to stdout, everything else to stderr, colour only where it shows. A
//! reader that went away (`| head`) ends the output quietly; an answer that could not be written for another reason, such
//! as a full disk, is an error of the command.

use std::io::{self, IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use anstyle::{AnsiColor, Style};
use serde::Serialize;

use crate::busy_line::BusyLine;
use crate::environment;
use crate::error::{CommandError, Warning};

pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
pub(crate) const DOUBTFUL: Style = AnsiColor::Yellow.on_default();
pub(crate) const STRONG: Style = Style::new().bold();
pub(crate) const FAINT: Style = Style::new().dimmed();

/// Wider terminals break few lines.
const NARROW: usize = 80;

/// How much is printed beside the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// Progress, too.
    Usual,
    /// Only warnings and errors.
    Quiet,
}

#[derive(Debug)]
pub(crate) struct Printer {
    width: Option<usize>,
    verbosity: Verbosity,
    /// Shown while nothing else is printed.
    busy: Mutex<Option<BusyLine>>,
    /// Whether stdout was a terminal at the start: one that was closed since cannot tell any more.
    is_terminal: bool,
    /// Why stdout could not be written, the first time.
    unwritten: Mutex<Option<io::Error>>,
}

impl Printer {
    pub(crate) fn new(verbosity: Verbosity) -> Self {
        let (busy, unwritten) = (Mutex::default(), Mutex::default());
        let is_terminal = io::stdout().is_terminal();
        Self { width: terminal_width(), verbosity, busy, is_terminal, unwritten }
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.verbosity == Verbosity::Quiet
    }

    /// Until something is printed, a person at the terminal sees that this goes on.
    pub(crate) fn begin_work(&self, what: &str) {
        if !self.is_quiet() {
            *self.busy.lock().unwrap_or_else(PoisonError::into_inner) = BusyLine::start(what);
        }
    }

    /// Takes that line away.
    fn end_work(&self) {
        drop(self.busy.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    /// The columns that a line may take; `None` if nobody watches and nothing needs to be cut.
    pub(crate) fn width(&self) -> Option<usize> {
        self.width
    }

    /// The same at a narrow terminal, where sentences that the terminal breaks anywhere are hard to read.
    pub(crate) fn narrow_width(&self) -> Option<usize> {
        self.width.filter(|width| *width < NARROW)
    }

    /// Data, exactly as it is.
    pub(crate) fn data(&self, text: &str) {
        self.end_work();
        self.keep(write_whole(text));
    }

    /// What a command answers with `--json`, on one line.
    pub(crate) fn json(&self, output: &impl Serialize) -> Result<(), CommandError> {
        let json = serde_json::to_string(output)?;
        self.data(&format!("{json}\n"));
        Ok(())
    }

    /// What a command answers: with `--json` the output on one line, else its text for people.
    pub(crate) fn answer(
        &self,
        json: bool,
        output: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> Result<ExitCode, CommandError> {
        match json {
            true => self.json(output)?,
            false => self.text(&text()),
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Text for people, styled; the styles are left out where they would not show.
    pub(crate) fn text(&self, text: &str) {
        self.line(text);
    }

    /// As `text`; whether anyone still reads it.
    pub(crate) fn line(&self, text: &str) -> bool {
        self.end_work();
        let mut stdout = anstream::stdout().lock();
        self.keep(stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
    }

    /// Whether it was written; if not, the reason is kept for the end of the command.
    pub(crate) fn keep(&self, written: io::Result<()>) -> bool {
        let Err(error) = written else { return true };
        // A terminal that was closed is a reader that went away, too.
        if error.kind() != io::ErrorKind::BrokenPipe && !self.is_terminal {
            self.unwritten.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
        false
    }

    /// What became of everything that was to be on stdout so far.
    pub(crate) fn written(&self) -> Result<(), CommandError> {
        match self.unwritten.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(CommandError::unwritten(&error)),
            None => Ok(()),
        }
    }

    /// What long work is at, beside the answer.
    pub(crate) fn progress(&self, text: &str) {
        self.progress_styled(&shown(text));
    }

    /// As `progress`, with styles of ours in it; what came from outside was made visible before.
    pub(crate) fn progress_styled(&self, text: &str) {
        self.end_work();
        if self.is_quiet() {
            return;
        }
        let mut stderr = anstream::stderr().lock();
        let _ = writeln!(stderr, "{text}");
    }

    /// Text for stderr by another way, without the styles that would not show there.
    pub(crate) fn as_it_shows(&self, text: &str) -> String {
        match anstream::AutoStream::choice(&io::stderr()) {
            anstream::ColorChoice::Never => anstream::adapter::strip_str(text).to_string(),
            _ => text.to_owned(),
        }
    }

    /// Something that a person should know beside the answer.
    pub(crate) fn warning(&self, warning: impl Into<Warning>) {
        self.end_work();
        let warning = warning.into();
        labelled(DOUBTFUL, "warning", &warning.message, &warning.hints);
    }

    pub(crate) fn error(&self, error: &CommandError) {
        self.end_work();
        labelled(BAD, "error", error.message(), error.hints());
    }
}

fn labelled(style: Style, label: &str, message: &str, hints: &[String]) {
    let mut stderr = anstream::stderr().lock();
    let style = style.bold();
    let _ = writeln!(stderr, "{style}{label}:{style:#} {}", shown(message));
    for hint in hints {
        let _ = writeln!(stderr, "{STRONG}hint:{STRONG:#} {}", shown(hint));
    }
}

/// One write, so that nothing is printed by halves.
pub(crate) fn write_whole(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
}

/// Several lines stay lines; what a file or a program put into them cannot move the cursor.
pub(crate) fn shown(text: &str) -> String {
    text::visible_lines(text.strip_suffix('\n').unwrap_or(text))
}

/// What the terminal says, unless a person set `COLUMNS`.
fn terminal_width() -> Option<usize> {
    let set = environment::read(environment::COLUMNS).and_then(|columns| columns.to_str()?.parse().ok());
    set.or_else(|| {
        let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
        Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
    })
}
