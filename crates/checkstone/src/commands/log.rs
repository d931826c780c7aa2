//! `checkstone log`: the decision log, one line per decision, across its rotated files.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use fs_err::File;

use crate::error::{CommandError, Warning};
use crate::journal_access;
use crate::printer::{BAD, DOUBTFUL, FAINT, GOOD, Printer};

/// Show the decision log: what was decided at each stop, why, and how long it took
///
/// Lines are printed as they were written, the newest last. With --follow, new ones are printed as they come, until
/// Ctrl-C.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone log
  checkstone log --follow
  checkstone log -n 1000 | grep ' hold: '")]
pub(crate) struct LogArguments {
    /// Wait for new lines
    #[arg(long, short)]
    follow: bool,
    /// How many of the last lines to print
    #[arg(short = 'n', long = "lines", value_name = "N", default_value_t = 20)]
    lines: usize,
}

/// Rotated files, the newest first.
const ROTATED: [&str; 3] = ["log.1", "log.2", "log.3"];

/// How often new lines are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(crate) fn run(arguments: &LogArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let state = journal_access::state_directory()?;
    let mut follower = Follower::new(&state);
    let whole = follower.read_all()?;
    if whole.is_empty() && !arguments.follow {
        let nothing = Warning::new(format!("nothing logged yet in `{}`", state.display()));
        printer.warning(nothing.hint("your agents' hooks write the log"));
        return Ok(ExitCode::SUCCESS);
    }
    let lines: Vec<&str> = whole.lines().collect();
    for line in lines.iter().skip(lines.len().saturating_sub(arguments.lines)) {
        printer.text(&coloured(line));
    }
    if !arguments.follow {
        return Ok(ExitCode::SUCCESS);
    }
    loop {
        std::thread::sleep(LOOK_EVERY);
        for line in follower.new_lines()? {
            if !printer.line(&coloured(&line)) {
                return Ok(ExitCode::SUCCESS);
            }
        }
    }
}

/// The decision stands out, the timings stand back.
fn coloured(line: &str) -> String {
    let decisions = [("hold", BAD), ("notify", DOUBTFUL), ("pass", GOOD)];
    // Time, agent and session stand before the decision.
    let places = decisions.iter().filter_map(|(word, style)| {
        let at = line.find(&format!(" {word}: "))?;
        Some((at + 1, *word, *style))
    });
    let found = places.min_by_key(|(at, ..)| *at);
    let Some((at, word, style)) = found else { return format!("{line}\n") };
    let (before, rest) = line.split_at(at);
    let rest = rest.get(word.len()..).unwrap_or_default();
    let (reason, timings) = rest.split_at(rest.rfind(" [").unwrap_or(rest.len()));
    format!("{before}{style}{word}{style:#}{reason}{FAINT}{timings}{FAINT:#}\n")
}

/// Reads a log that is appended to and rotated meanwhile.
struct Follower {
    state: PathBuf,
    /// The file that is read, with the beginning of a line that has no end yet.
    current: Option<Open>,
    /// The file before the rotation: a process that had opened it may still append a line.
    before: Option<Open>,
}

struct Open {
    file: File,
    inode: u64,
    unfinished: Vec<u8>,
}

impl Follower {
    fn new(state: &Path) -> Self {
        Self { state: state.to_owned(), current: None, before: None }
    }

    /// Everything that is there, oldest first.
    fn read_all(&mut self) -> Result<String, CommandError> {
        let mut lines = Vec::new();
        for name in ROTATED.iter().rev() {
            if let Some(mut open) = self.open(name)? {
                lines.extend(open.lines()?);
                self.before = Some(open);
            }
        }
        self.current = self.open("log")?;
        if let Some(current) = &mut self.current {
            lines.extend(current.lines()?);
        }
        Ok(lines.iter().map(|line| format!("{line}\n")).collect())
    }

    fn new_lines(&mut self) -> Result<Vec<String>, CommandError> {
        let mut lines = Vec::new();
        if let Some(before) = &mut self.before {
            lines.extend(before.lines()?);
        }
        if let Some(current) = &mut self.current {
            lines.extend(current.lines()?);
        }
        let now = inode(&self.state.join("log"));
        let reading = self.current.as_ref().map(|open| open.inode);
        if now.is_none() || now == reading {
            return Ok(lines);
        }
        // Rotated: what lies between the file that was read and the new one, the oldest first.
        let numbered: Vec<Option<u64>> = ROTATED.iter().map(|name| inode(&self.state.join(name))).collect();
        let place = reading.and_then(|reading| numbered.iter().position(|inode| *inode == Some(reading)));
        for name in ROTATED.iter().take(place.unwrap_or(0)).rev() {
            if let Some(mut open) = self.open(name)? {
                lines.extend(open.lines()?);
            }
        }
        self.before = self.current.take();
        if let Some(before) = &mut self.before {
            lines.extend(before.lines()?);
        }
        self.current = self.open("log")?;
        if let Some(current) = &mut self.current {
            lines.extend(current.lines()?);
        }
        Ok(lines)
    }

    fn open(&self, name: &str) -> Result<Option<Open>, CommandError> {
        let path = self.state.join(name);
        if !path.is_file() {
            return Ok(None);
        }
        match File::open(&path) {
            Ok(file) => {
                let inode = file.metadata()?.ino();
                Ok(Some(Open { file, inode, unfinished: Vec::new() }))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

impl Open {
    /// The lines that were added since the last look.
    fn lines(&mut self) -> Result<Vec<String>, CommandError> {
        // Someone emptied the file: begin again.
        let size = self.file.metadata()?.len();
        if self.file.stream_position()? > size {
            self.file.seek(SeekFrom::Start(0))?;
            self.unfinished.clear();
        }
        self.file.read_to_end(&mut self.unfinished)?;
        let Some(end) = self.unfinished.iter().rposition(|byte| *byte == b'\n') else {
            return Ok(Vec::new());
        };
        let rest = self.unfinished.split_off(end + 1);
        let whole = std::mem::replace(&mut self.unfinished, rest);
        Ok(String::from_utf8_lossy(&whole).lines().map(str::to_owned).collect())
    }
}

fn inode(path: &Path) -> Option<u64> {
    fs_err::metadata(path).ok().map(|metadata| metadata.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log that is rotated twice between two looks loses no line, and a late line of the old file comes too.
    #[test]
    fn following_survives_rotation() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let append = |name: &str, text: &str| {
            let mut file = fs_err::OpenOptions::new().append(true).create(true).open(path(name)).unwrap();
            std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        };
        let rotate = || {
            let _ = fs_err::rename(path("log.1"), path("log.2"));
            fs_err::rename(path("log"), path("log.1")).unwrap();
        };
        append("log", "1\n");
        let mut follower = Follower::new(folder.path());
        assert_eq!(follower.read_all().unwrap(), "1\n");
        append("log", "2\n3");
        assert_eq!(follower.new_lines().unwrap(), ["2"]);
        append("log", "\n");
        rotate();
        append("log", "4\n");
        rotate();
        append("log", "5\n");
        assert_eq!(follower.new_lines().unwrap(), ["3", "4", "5"]);
        append("log.2", "late\n");
        append("log", "6\n");
        assert_eq!(follower.new_lines().unwrap(), ["late", "6"]);
        assert!(follower.new_lines().unwrap().is_empty());
    }

    #[test]
    fn the_decision_is_coloured_and_nothing_else_changes() {
        let line = "2026-11-15T04:00:00.000Z claude s hold: missing: tests [git 1.0 = 2.0 ms]";
        assert_eq!(anstream::adapter::strip_str(&coloured(line)).to_string(), format!("{line}\n"));
        assert!(coloured(line).contains(&format!("{BAD}hold{BAD:#}: missing")));
        assert!(
            coloured("t claude s pass: after a hold: said").contains(&format!("{GOOD}pass{GOOD:#}: after"))
        );
        assert_eq!(coloured("other words"), "other words\n");
    }
}
