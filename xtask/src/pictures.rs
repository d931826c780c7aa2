//! The pictures in `docs/pictures`: what a person sees when an agent is held. Each client's own screen is run in tmux
//! with the hooks that `checkstone init` registers, and a scripted model plays an agent that edits a file, says that it
//! is done, and runs the tests when it is told to.
//!
//! The same work gives the same pictures: what changes from run to run, such as times and ids, is left out or made
//! alike, but for the page of a run, which shows its own. No path of the machine that made them is in them.

#[cfg(test)]
mod check;
mod ledger;
mod page;
mod run;
mod serve;
mod svg;
mod terminal;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use scripted_model::{Client, Installed, Scenario, Screen, Server, Settings};
use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;
use transcript::Agent;

use crate::clients::{self, Generation, Programs};
use crate::needs;
use crate::process::{self, cargo_command};
use crate::root;
use svg::is_blank;
use terminal::CellRow;

/// Where they lie.
const FOLDER: &str = "docs/pictures";

const PROMPT: &str = "Fix the bug in calc.py";
const LAST_WORDS: &str = "The test passes";

/// A model takes its time: Claude Code writes its transcript up to a tenth of a second late.
const SCENARIO: &str = r#"{"steps": [
  {"delay_ms": 500, "calls": [{"read": "calc.py"}]},
  {"delay_ms": 500, "text": "`add` subtracts. I correct it.", "calls": [
    {"edit": {"path": "calc.py", "old": "    return a - b", "new": "    return a + b"}}]},
  {"delay_ms": 500, "text": "Done: `add` adds now."},
  {"delay_ms": 500, "calls": [{"run": "python3 -m unittest"}]},
  {"delay_ms": 500, "text": "The test passes: `add` is fixed."}
]}"#;

/// Followed by a time.
const TEST_RAN_IN: &str = "Ran 1 test in ";

const FILES: &[(&str, &str)] = &[
    ("calc.py", "def add(a, b):\n    return a - b\n"),
    (
        "test_calc.py",
        "import unittest\n\nfrom calc import add\n\n\nclass Addition(unittest.TestCase):\n    def test_add(self):\n        \
         self.assertEqual(add(2, 3), 5)\n",
    ),
    ("pyproject.toml", "[project]\nname = \"calc\"\nversion = \"1\"\n"),
    (".gitignore", "__pycache__/\n"),
];

/// In the order of their turns. The last one is explained, and Codex writes the same records every time.
const CLIENTS: [Client; 7] = [
    Client::Claude,
    Client::Gemini,
    Client::Qwen,
    Client::Opencode,
    Client::Copilot,
    Client::Droid,
    Client::Codex,
];

/// Makes them all, or those of a hold in these clients.
pub(crate) fn make(program: Option<&Path>, hosts: &[Agent]) -> Result<(), String> {
    needs::check()?;
    // The scripted agent runs the tests with it.
    process::output(Command::new("python3").arg("--version"))?;
    let program = match program {
        Some(program) => program.to_owned(),
        None => {
            println!("building…");
            built()?
        }
    };
    if hosts.is_empty() {
        ledger::make(&program)?;
        page::make(&program)?;
        run::make(&program)?;
        serve::make(&program)?;
    }
    let machine = clients::machine().ok_or("the clients have no packages for this machine")?;
    let programs = clients::install(Generation::Current, &CLIENTS.map(Client::host), machine)?;
    let workplace = Workplace::new(&program)?;
    let servers = CLIENTS.map(|_| workplace.server());
    let mut addresses = Vec::new();
    for (client, server) in CLIENTS.into_iter().zip(&servers) {
        let address = server.as_ref().map_err(Clone::clone)?.address();
        workplace.settle(&workplace.installed(client, &programs, &address))?;
        addresses.push(address);
    }
    workplace.checkstone(&["init", "--yes"])?;
    workplace.git(&["add", "--all"])?;
    workplace.git(&["commit", "--quiet", "--message=Ask for tests"])?;
    let is_wanted = |client: Client| hosts.is_empty() || hosts.contains(&client.host());
    for (client, address) in CLIENTS.into_iter().zip(&addresses).filter(|(client, _)| is_wanted(*client)) {
        workplace.git(&["checkout", "--quiet", "--", "."])?;
        workplace.make_unlike()?;
        workplace.turn(&workplace.installed(client, &programs, address))?;
    }
    if !hosts.is_empty() {
        return Ok(());
    }
    let hold = workplace.latest_hold()?.to_string();
    workplace.picture_of_command("explain", &["explain", &hold])?;
    workplace.picture_of_command("status", &["status"])
}

/// The program, as it is now.
fn built() -> Result<PathBuf, String> {
    let mut build = cargo_command();
    build.args([
        "build",
        "--quiet",
        "--package",
        "checkstone",
        "--bin",
        "checkstone",
        "--features",
        "serve",
        "--message-format=json",
    ]);
    let told = process::output(&mut build)?;
    let executable = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message.get("executable")?.as_str()?))
    };
    told.lines()
        .filter_map(executable)
        .next_back()
        .ok_or_else(|| "cargo did not say what it built".to_owned())
}

/// As `explain --list` tells it.
#[derive(Deserialize)]
struct ListedVerdict {
    id: u64,
    at: String,
    session: String,
    verdict: String,
}

/// A person's home with a repository and the program in it.
struct Workplace {
    /// Goes away with the workplace.
    _folder: TempDir,
    home: PathBuf,
    repository: PathBuf,
    program: PathBuf,
    path: OsString,
}

impl Workplace {
    fn new(built: &Path) -> Result<Self, String> {
        let told = |error: std::io::Error| error.to_string();
        let folder = tempfile::tempdir().map_err(told)?;
        let home = folder.path().canonicalize().map_err(told)?.join("home");
        let (repository, program) = (home.join("calc"), home.join(".local/bin/checkstone"));
        for folder in [&repository, &home.join(".local/bin"), &home.join("tmp")] {
            fs_err::create_dir_all(folder).map_err(told)?;
        }
        fs_err::copy(built, &program).map_err(told)?;
        for (name, text) in FILES {
            fs_err::write(repository.join(name), text).map_err(told)?;
        }
        let workplace = Self { _folder: folder, home, repository, program, path: process::path() };
        workplace.git(&["init", "--quiet", "--initial-branch=main"])?;
        workplace.git(&["add", "--all"])?;
        workplace.git(&["commit", "--quiet", "--message=Begin"])?;
        Ok(workplace)
    }

    fn server(&self) -> Result<Server, String> {
        let scenario: Scenario = serde_json::from_str(SCENARIO).map_err(|error| error.to_string())?;
        let settings = Settings { port: 0, folder: self.repository.clone(), log: None };
        Server::start(scenario, &settings).map_err(|error| error.to_string())
    }

    fn installed<'a>(&'a self, client: Client, programs: &'a Programs, address: &'a str) -> Installed<'a> {
        let program = programs.of(client.host()).unwrap_or(Path::new(""));
        Installed { client, program, path: &self.path, home: &self.home, folder: &self.repository, address }
    }

    /// What a person has answered before: sign-in, theme, the folder, which commands may run.
    fn settle(&self, client: &Installed<'_>) -> Result<(), String> {
        let told = |error: std::io::Error| error.to_string();
        client.settle().map_err(told)?;
        client.settle_screen().map_err(told)?;
        match client.client {
            Client::Claude => {
                let settings = json!({"permissions": {"allow": ["Bash(python3 -m unittest)"]}});
                fs_err::write(self.home.join(".claude/settings.json"), settings.to_string()).map_err(told)
            }
            Client::Gemini => {
                let file = self.home.join(".gemini/settings.json");
                let text = fs_err::read_to_string(&file).map_err(told)?;
                let mut settings: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
                if let Some(settings) = settings.as_object_mut() {
                    settings.insert(
                        "ui".to_owned(),
                        json!({"hideTips": true, "hideBanner": true, "hideFooter": true}),
                    );
                    let allowed = json!({"allowed": ["run_shell_command(python3 -m unittest)"]});
                    settings.insert("tools".to_owned(), allowed);
                }
                fs_err::write(file, settings.to_string()).map_err(told)
            }
            _ => Ok(()),
        }
    }

    /// Plays the turn on the client's screen and takes its picture.
    fn turn(&self, client: &Installed<'_>) -> Result<(), String> {
        let told = |error: std::io::Error| error.to_string();
        let agent = client.client.agent();
        println!("{agent}…");
        let mut command = Command::new(client.program);
        client.environment(&mut command);
        command.env("COLORTERM", "truecolor");
        let (words, ready) = client.screen_words();
        match client.client {
            Client::Claude => command.args(["--permission-mode", "acceptEdits"]),
            Client::Gemini => command.args(["--approval-mode", "auto_edit"]),
            Client::Codex => command.arg("--dangerously-bypass-approvals-and-sandbox"),
            _ => command.args(words),
        };
        let screen = Screen::start(&command, &self.home.join("tmp").join(agent)).map_err(told)?;
        match client.client {
            Client::Claude => screen.wait_for("accept edits on").map_err(told)?,
            Client::Codex => {
                screen.wait_for("Hooks need review").map_err(told)?;
                // It draws before it listens.
                screen.still().map_err(told)?;
                screen.press("Down").map_err(told)?;
                screen.wait_for("› 2. Trust all and continue").map_err(told)?;
                write(
                    "codex-trust",
                    "Codex CLI: trust the hooks once",
                    &rows(&screen.still().map_err(told)?),
                )?;
                screen.press("Enter").map_err(told)?;
                screen.wait_for(ready).map_err(told)?;
            }
            _ => {
                screen.wait_for(ready).map_err(told)?;
                // It draws before it listens.
                screen.still().map_err(told)?;
            }
        }
        screen.say(PROMPT).map_err(told)?;
        screen.wait_for(LAST_WORDS).map_err(told)?;
        let decisions = || self.decisions(agent).map_err(std::io::Error::other);
        screen.wait_until(|| Ok(decisions()? == ["hold", "pass"])).map_err(told)?;
        let title = agents::host(client.client.host()).title;
        let shown = self.without_what_changes(&screen.still().map_err(told)?)?;
        write(&format!("{agent}-hold"), &format!("{title}: held once"), &of_the_turn(&rows(&shown))?)
    }

    /// Commits another layout, so that what one client's tests proved is not what the next client writes.
    fn make_unlike(&self) -> Result<(), String> {
        let file = self.repository.join("calc.py");
        let text = fs_err::read_to_string(&file).map_err(|error| error.to_string())?;
        fs_err::write(&file, text + "\n").map_err(|error| error.to_string())?;
        self.git(&["commit", "--quiet", "--all", "--message=Lay it out anew"]).map(drop)
    }

    /// What was decided for this client, in order.
    fn decisions(&self, agent: &str) -> Result<Vec<String>, String> {
        let log = self.checkstone(&["log"])?;
        let decision = |line: &str| {
            let mut words = line.split(' ').skip(1);
            let is_it = words.next() == Some(agent);
            words.nth(1).filter(|_| is_it).map(|word| word.trim_end_matches(':').to_owned())
        };
        Ok(log.lines().filter_map(decision).collect())
    }

    fn picture_of_command(&self, name: &str, arguments: &[&str]) -> Result<(), String> {
        let mut command = self.command(&self.program);
        command.args(arguments).env("CLICOLOR_FORCE", "1").env("COLUMNS", Screen::COLUMNS.to_string());
        let told = self.without_what_changes(&process::output(&mut command)?)?;
        let line = format!("checkstone {}", arguments.join(" "));
        let typed = format!("\u{1b}[1;32m$\u{1b}[0m \u{1b}[1m{line}\u{1b}[0m\n\n");
        write(name, &line, &rows(&format!("{typed}{told}")))
    }

    /// The latest first.
    fn verdicts(&self) -> Result<Vec<ListedVerdict>, String> {
        let list = self.checkstone(&["explain", "--list", "--json"])?;
        let mut list: Value = serde_json::from_str(&list).map_err(|error| error.to_string())?;
        let verdicts = list.get_mut("verdicts").map(Value::take).unwrap_or_default();
        serde_json::from_value(verdicts).map_err(|error| error.to_string())
    }

    fn latest_hold(&self) -> Result<u64, String> {
        let held = self.verdicts()?.into_iter().find(|listed| listed.verdict == "hold");
        held.map(|listed| listed.id).ok_or_else(|| "no verdict is a hold".to_owned())
    }

    /// Ids, times and paths as they might be anywhere. What is said in one session is said in the same minute.
    fn without_what_changes(&self, told: &str) -> Result<String, String> {
        let mut told = told.replace(&*self.home.to_string_lossy(), "/home/ann");
        let mut sessions: Vec<String> = Vec::new();
        for verdict in self.verdicts()?.into_iter().rev() {
            if !sessions.contains(&verdict.session) {
                sessions.push(verdict.session.clone());
            }
            let at: String = verdict.at.replace('T', " ").chars().take("2026-01-31 09:00:00".len()).collect();
            told = told.replace(&at, &format!("2026-01-31 09:0{}:00", sessions.len()));
            told = told.replace(&verdict.session, "3c0a8a2e-52f4-4a0e-9d0b-7f6f1d2b8c41");
        }
        Ok(told)
    }

    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        let anyone = Installed {
            client: Client::Claude,
            program: &self.program,
            path: &self.path,
            home: &self.home,
            folder: &self.repository,
            address: "",
        };
        anyone.environment(&mut command);
        command
    }

    fn checkstone(&self, arguments: &[&str]) -> Result<String, String> {
        process::output(self.command(&self.program).args(arguments))
    }

    fn git(&self, arguments: &[&str]) -> Result<String, String> {
        process::output(self.command("git").args(arguments))
    }
}

/// The rows of a screen without what is of this minute, and at most one blank row after another.
fn rows(text: &str) -> Vec<CellRow> {
    let mut kept: Vec<CellRow> = Vec::new();
    for mut row in terminal::rows(text) {
        let said = terminal::text(&row);
        if is_of_this_minute(said.trim()) {
            continue;
        }
        if let Some((before, _)) = said.split_once(TEST_RAN_IN) {
            mask_number(&mut row, before.chars().chain(TEST_RAN_IN.chars()).count());
        }
        mask_time_at_end(&mut row);
        if !is_blank(&row) || kept.last().is_some_and(|row| !is_blank(row)) {
            kept.push(row);
        }
    }
    while kept.last().is_some_and(|row| is_blank(row)) {
        kept.pop();
    }
    kept
}

/// How long the turn took, in words that change; a hint that comes and goes; our own timings.
fn is_of_this_minute(said: &str) -> bool {
    let begins = ["✻ ", "Worked for ", "start ", "[⏱ "];
    let ends = [" · /effort", " ms"];
    begins.iter().any(|begin| said.starts_with(begin)) || ends.iter().any(|end| said.ends_with(end))
}

/// Makes the digits of a number zeros.
fn mask_number(row: &mut CellRow, from: usize) {
    for cell in row.iter_mut().skip(from) {
        match cell.text.as_str() {
            "." => {}
            digit if digit.chars().all(|character| character.is_ascii_digit()) => cell.text = "0".to_owned(),
            _ => return,
        }
    }
}

/// Makes the digits of a time of day or a number of seconds zeros with which a row ends.
fn mask_time_at_end(row: &mut CellRow) {
    let said = terminal::text(row);
    let last = said.trim_end().rsplit(' ').next().unwrap_or_default();
    let is_time = last.len() == "09:00".len() && last.chars().nth(2) == Some(':');
    let is_seconds = last.ends_with('s') && last.starts_with(|first: char| first.is_ascii_digit());
    if !(is_time || is_seconds) {
        return;
    }
    for cell in row.iter_mut().rev().skip_while(|cell| cell.text.trim().is_empty()) {
        match cell.text.as_str() {
            " " => return,
            digit if digit.chars().all(|character| character.is_ascii_digit()) => cell.text = "0".to_owned(),
            _ => {}
        }
    }
}

/// From the prompt on, with the upper edge that some clients give it.
fn of_the_turn(rows: &[CellRow]) -> Result<Vec<CellRow>, String> {
    let begin = rows.iter().position(|row| terminal::text(row).contains(PROMPT));
    let begin = begin.ok_or("the prompt is not on the screen any more")?;
    let edge = rows.iter().take(begin).next_back().filter(|row| !is_blank(row));
    Ok(rows.iter().skip(begin - usize::from(edge.is_some())).cloned().collect())
}

fn write(name: &str, title: &str, rows: &[CellRow]) -> Result<(), String> {
    let file = root().join(FOLDER).join(format!("{name}.svg"));
    let told = |error: std::io::Error| error.to_string();
    if let Some(folder) = file.parent() {
        fs_err::create_dir_all(folder).map_err(told)?;
    }
    fs_err::write(&file, svg::picture(title, rows, Screen::COLUMNS)).map_err(told)?;
    println!("{}", file.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(rows: &[CellRow]) -> Vec<String> {
        rows.iter().map(|row| terminal::text(row)).collect()
    }

    #[test]
    fn what_is_of_this_minute_is_left_out_or_made_alike() {
        let screen =
            "a\n✻ Brewed for 3s · done 7:13 AM\n  │ Ran 1 test in 0.012s │\n  Worked for 12s • 07:13\nb\n";
        assert_eq!(shown(&rows(screen)), ["a", "  │ Ran 1 test in 0.000s │", "b"]);
    }

    #[test]
    fn a_time_at_the_end_of_a_row_is_made_alike() {
        let screen = "❯ Fix it     03:05  \n  ▣  Build · 27.1s\n  12 tests\n  3 files\n";
        assert_eq!(
            shown(&rows(screen)),
            ["❯ Fix it     00:00  ", "  ▣  Build · 00.0s", "  12 tests", "  3 files"]
        );
    }

    #[test]
    fn of_blank_rows_one_stays_and_none_at_the_ends() {
        let screen = "\n\na\n \n\n\nb\n\u{1b}[41m  \u{1b}[0m\n\n\n";
        assert_eq!(shown(&rows(screen)), ["a", " ", "b", "  "], "a coloured row is not blank");
    }

    #[test]
    fn a_turn_begins_with_its_prompt_and_the_edge_above_it() {
        let banner = format!("Client 1.2\n\n> {PROMPT}\nDone.\n");
        assert_eq!(shown(&of_the_turn(&rows(&banner)).unwrap()), [format!("> {PROMPT}"), "Done.".to_owned()]);
        let edge = format!("Client 1.2\n\n▄▄▄\n> {PROMPT}\n");
        assert_eq!(shown(&of_the_turn(&rows(&edge)).unwrap()), ["▄▄▄".to_owned(), format!("> {PROMPT}")]);
        assert!(of_the_turn(&rows("Done.")).is_err(), "the prompt was scrolled away");
    }
}
