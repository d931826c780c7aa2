//! `checkstone log`: the decision log, one line per decision, across its rotated files.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use agents::registration::settings;
use files::{FileError, Links, regular_file};
use serde::Serialize;
use stop::{SESSIONS_LOOKED_AT, Statistics};
use text::{counted, wrap};

use crate::error::{CommandError, Warning};
use crate::journal_access;
use crate::moment::{self, Moment};
use crate::printer::{BAD, DOUBTFUL, FAINT, GOOD, Printer, STRONG};
use crate::replay_table;
use crate::repository_argument::find;
use crate::unproven_work::UnprovenWork;

/// Show the decision log: what was decided at each stop, why, and how long it took
///
/// Lines are printed as they were written, the newest last. With --follow, new ones are printed as they come, until
/// Ctrl-C. With --stats, the journal's turns are added up instead: by verdict, project, agent and day, and in how many of the
/// held turns the tests then ran.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  checkstone log
  checkstone log --follow
  checkstone log --repo .
  checkstone log --stats --since 14d
  checkstone log -n 1000 | grep ' hold: '")]
pub(crate) struct LogArguments {
    /// Wait for new lines
    #[arg(long, short)]
    follow: bool,
    /// How many of the last lines to print
    #[arg(short = 'n', long = "lines", value_name = "N", default_value_t = 20)]
    lines: usize,
    /// Only decisions for the repository of this folder, and what is unproven there
    #[arg(long, value_name = "FOLDER", conflicts_with = "follow")]
    repo: Option<PathBuf>,
    /// Add up all recorded turns instead
    #[arg(long, conflicts_with_all = ["follow", "lines"])]
    stats: bool,
    /// Only turns that began then or later: `2026-11-01`, `2026-11-01T08:00:00Z`, `12h`, `14d` or `2w`
    #[arg(long, value_name = "WHEN", requires = "stats", value_parser = moment::parse)]
    since: Option<Moment>,
    /// Print JSON (schemas/log-stats.schema.json)
    #[arg(long, requires = "stats")]
    json: bool,
}

/// What `checkstone log --stats --json` prints.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "LogStats"))]
pub(crate) struct LogStatsOutput {
    /// The repository that was asked for; null for all.
    repository: Option<String>,
    /// Where the turns begin that were asked for; null for all.
    since: Option<String>,
    #[serde(flatten)]
    statistics: Statistics,
}

/// The log and its rotated files, the oldest first.
const NAMES: [&str; 4] = ["log.3", "log.2", "log.1", "log"];

/// How often new lines are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);

pub(crate) fn run(arguments: &LogArguments, printer: &Printer) -> Result<ExitCode, CommandError> {
    let state = journal_access::state_directory()?;
    if arguments.stats {
        return statistics(arguments, &state, printer);
    }
    let of_repository = arguments.repo.as_deref().map(|folder| of_repository(&state, folder)).transpose()?;
    let mut follower = Follower::new(&state);
    let lines = follower.new_lines()?;
    if lines.is_empty() && !arguments.follow {
        let nothing = Warning::new(format!("nothing logged yet in `{}`", state.display()));
        printer.warning(nothing.hint("your agents' hooks write the log"));
        return Ok(ExitCode::SUCCESS);
    }
    let lines: Vec<String> = match &of_repository {
        Some((sessions, _)) => {
            let is_its = |line: &String| sessions.iter().any(|session| line.contains(session.as_str()));
            lines.into_iter().filter(is_its).collect()
        }
        None => lines,
    };
    for line in lines.iter().skip(lines.len().saturating_sub(arguments.lines)) {
        printer.text(&coloured(line));
    }
    if let Some(unproven) = of_repository.and_then(|(_, unproven)| unproven.sentence()) {
        printer.text(&format!("{BAD}unproven{BAD:#}: {unproven}\n"));
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

fn statistics(arguments: &LogArguments, state: &Path, printer: &Printer) -> Result<ExitCode, CommandError> {
    let repository = arguments.repo.as_deref().map(find).transpose()?.map(|repository| repository.root);
    let since = arguments.since.map(|since| since.0);
    let days = match journal_access::open_existing(state)? {
        Some(mut journal) => journal.read(|reader| reader.days_of_turns(since, repository.as_deref()))?,
        None => Vec::new(),
    };
    let statistics = Statistics::of_journal(days);
    let output = LogStatsOutput {
        repository: repository.map(|root| root.to_string_lossy().into_owned()),
        since: since.map(|since| since.to_string()),
        statistics,
    };
    printer.answer(arguments.json, &output, || statistics_text(&output.statistics, printer.width()))
}

fn statistics_text(statistics: &Statistics, width: Option<usize>) -> String {
    let turns = &statistics.turns;
    let count = |number: u64| counted(usize::try_from(number).unwrap_or(usize::MAX), "turn");
    let days: Vec<&str> = statistics.days.iter().filter_map(|count| count.day.as_deref()).collect();
    let span = match (days.first(), days.last()) {
        (Some(first), Some(last)) if first != last => format!(", {first} to {last}"),
        (Some(day), _) => format!(", {day}"),
        _ => String::new(),
    };
    let mut text = format!("{STRONG}{}{STRONG:#}{span}\n", count(turns.total));
    if turns.total == 0 {
        return text;
    }
    replay_table::verdicts(&mut text, turns, "held");
    if turns.held > 0 {
        let sentence = format!(
            "Of {} held, {} then ran the tests, or whatever else was missing.",
            count(turns.held),
            turns.then_tested
        );
        let _ = writeln!(text, "\n{}", wrap(&sentence, 0, width));
    }
    replay_table::projects(&mut text, statistics, width);
    if statistics.agents.len() > 1 {
        let _ = writeln!(text, "\n{STRONG}Agents{STRONG:#} (turns)");
        for agent in &statistics.agents {
            let _ = writeln!(text, "  {:>6}  {}", agent.turns.total, settings::client(agent.agent));
        }
    }
    text
}

/// The agent and the id of each session of a repository, as the log has them, and what is unproven there.
fn of_repository(state: &Path, folder: &Path) -> Result<(Vec<String>, UnprovenWork), CommandError> {
    let repository = find(folder)?;
    let Some(mut journal) = journal_access::open_existing(state)? else { return Ok(Default::default()) };
    let sessions = journal.read(|reader| reader.sessions_in(&repository.root, SESSIONS_LOOKED_AT))?;
    let named = sessions.iter().map(|session| format!(" {} {} ", session.agent, session.client_id)).collect();
    Ok((named, UnprovenWork::of_repository(&mut journal, &repository)?))
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
    /// The oldest first. A process that had opened a file before its rotation may still append a line to it.
    files: Vec<Open>,
}

struct Open {
    file: File,
    inode: u64,
    /// The beginning of a line that has no end yet.
    unfinished: Vec<u8>,
}

impl Follower {
    fn new(state: &Path) -> Self {
        Self { state: state.to_owned(), files: Vec::new() }
    }

    /// The lines that were added since the last look; at first everything that is there.
    fn new_lines(&mut self) -> Result<Vec<String>, CommandError> {
        for name in NAMES {
            self.open(name)?;
        }
        self.files.drain(..self.files.len().saturating_sub(NAMES.len()));
        let mut lines = Vec::new();
        for file in &mut self.files {
            lines.extend(file.lines()?);
        }
        Ok(lines)
    }

    /// Opens the file, unless it is open already, by this name or another.
    fn open(&mut self, name: &str) -> Result<(), CommandError> {
        let file = match regular_file::open(&self.state.join(name), Links::Follow) {
            Ok(file) => file,
            Err(FileError::NotFound { .. } | FileError::NotAFile { .. }) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let inode = file.metadata()?.ino();
        if self.files.iter().all(|open| open.inode != inode) {
            self.files.push(Open { file, inode, unfinished: Vec::new() });
        }
        Ok(())
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
        assert_eq!(follower.new_lines().unwrap(), ["1"]);
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
        let decision = |line: &str| {
            let shown = coloured(line);
            let (before, behind) = shown.split_once(": ").unwrap();
            let decision = before.rsplit(' ').next().unwrap().to_owned();
            (decision, behind.split(' ').next().unwrap().trim_end().to_owned())
        };
        assert_eq!(decision(line), (format!("{BAD}hold{BAD:#}"), "missing:".to_owned()));
        let passed = "t claude s pass: after a hold: said";
        assert_eq!(decision(passed), (format!("{GOOD}pass{GOOD:#}"), "after".to_owned()));
        assert_eq!(coloured("other words"), "other words\n");
    }
}
