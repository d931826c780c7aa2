//! Every command line that the README, the pages of `docs` and the help show is run, not only parsed: in a repository with a
//! session that was held, and with what `documented_commands.txt` says of each page.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use rustix::process::{Pid, Signal, kill_process_group};
use sandbox::{RunToEnd as _, finish};

use crate::hook::session::Session;
use crate::hook::world::{PYTHON, World};
use crate::program;
use crate::trust::terminal;

/// So many pages are worked through at once: most of the time is spent waiting for processes.
const AT_ONCE: usize = 4;

/// What the data file says.
#[derive(Debug, Default)]
struct Scenario {
    /// Texts of the documents that stand for something of this run: ids, places.
    instead: Vec<(String, String)>,
    sections: Vec<Section>,
}

/// Of one page, such as `docs/ci.md` or `checkstone run --help`.
#[derive(Debug, Default)]
struct Section {
    page: String,
    /// Shell commands that prepare the folder.
    before: Vec<String>,
    /// Lines that begin so end with this exit code; all others with 0.
    exits: Vec<(String, i32)>,
    /// Lines that run until they are ended.
    lasting: Vec<String>,
    /// Lines that are not run, and why.
    skipped: Vec<(String, String)>,
}

impl Scenario {
    fn read() -> Self {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/checkstone/documented_commands.txt");
        let mut scenario = Self::default();
        for line in fs_err::read_to_string(file).unwrap().lines().filter(|line| !line.trim().is_empty()) {
            let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
            let rest = rest.trim().to_owned();
            let pair = |rest: &str| {
                let (left, right) = rest.split_once(" | ").unwrap_or_else(|| panic!("`{line}` has no ` | `"));
                (left.trim().to_owned(), right.trim().to_owned())
            };
            if word == "#" {
                continue;
            }
            if word == "page" {
                scenario.sections.push(Section { page: rest, ..Section::default() });
                continue;
            }
            if word == "instead" {
                scenario.instead.push(pair(&rest));
                continue;
            }
            let section = scenario.sections.last_mut().unwrap();
            match word {
                "before" => section.before.push(rest),
                "lasting" => section.lasting.push(rest),
                "skip" => section.skipped.push(pair(&rest)),
                "exit" => {
                    let (code, start) = rest.split_once(' ').unwrap();
                    section.exits.push((start.to_owned(), code.parse().unwrap()));
                }
                other => panic!("`{other}` is no word of the scenario"),
            }
        }
        scenario
    }

    fn section(&self, page: &str) -> Section {
        let mut own = Section { page: page.to_owned(), ..Section::default() };
        for section in self.sections.iter().filter(|section| section.page == page || section.page == "*") {
            own.before.extend(section.before.iter().cloned());
            own.exits.extend(section.exits.iter().cloned());
            own.lasting.extend(section.lasting.iter().cloned());
            own.skipped.extend(section.skipped.iter().cloned());
        }
        own
    }
}

/// A page, and the lines that it shows.
#[derive(Debug)]
struct Page {
    name: String,
    lines: Vec<String>,
}

/// A line without the remark behind it.
fn without_remark(line: &str) -> String {
    let end = line.find(" # ").unwrap_or(line.len());
    line.get(..end).unwrap_or(line).trim().to_owned()
}

/// The lines behind `$ ` in blocks of the kind `console`, each whole.
fn documents() -> Vec<Page> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs_err::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = docs.chain([root.join("README.md")]).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "md"));
    files.sort();
    let page = |file: PathBuf| {
        let text = fs_err::read_to_string(&file).unwrap();
        let (blocks, others): (Vec<&str>, Vec<&str>) =
            text.split("```").skip(1).step_by(2).partition(|block| block.starts_with("console"));
        let missed = others.into_iter().flat_map(str::lines).find(|line| line.trim_start().starts_with("$ "));
        assert_eq!(missed, None, "{} is shown in a block that is not of the kind `console`", file.display());
        let text: String = blocks.into_iter().map(|block| block.replace("\\\n", " ")).collect();
        let lines = text.lines().filter_map(|line| line.trim_start().strip_prefix("$ ")).map(without_remark);
        let name = file.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        Page { name, lines: lines.collect() }
    };
    files.into_iter().map(page).filter(|page| !page.lines.is_empty()).collect()
}

/// The examples in the help of every command and of those inside it, from the manual pages: there they are not wrapped.
fn helps() -> Vec<Page> {
    let folder = tempfile::tempdir().unwrap();
    let written = program::checkstone(&["man", folder.path().to_str().unwrap()]).answer();
    assert_eq!(written.code, Some(0), "{written:?}");
    let mut pages: Vec<Page> = Vec::new();
    let mut files: Vec<PathBuf> =
        fs_err::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    // A command before those inside it.
    files.sort_by_key(|file| file.with_extension(""));
    for file in files {
        let stem = file.file_stem().unwrap().to_string_lossy().into_owned();
        let Some(words) = stem.strip_prefix("checkstone-") else { continue };
        let examples = examples(&fs_err::read_to_string(&file).unwrap());
        assert!(!examples.is_empty(), "`checkstone {}` has no example", words.replace('-', " "));
        let name = format!("checkstone {} --help", words.split('-').next().unwrap());
        match pages.last_mut().filter(|page| page.name == name) {
            Some(page) => page.lines.extend(examples),
            None => pages.push(Page { name, lines: examples }),
        }
    }
    pages
}

fn examples(manual_page: &str) -> Vec<String> {
    let text = manual_page.replace("\\*(Aq", "'").replace("\\-", "-").replace("\\\\", "\\");
    let Some((_, section)) = text.split_once("Examples:\n").or_else(|| text.split_once("Example:\n")) else {
        return Vec::new();
    };
    let section = section.split("\n.SH").next().unwrap_or_default().split("\n\n").next().unwrap_or_default();
    let section = section.replace("\\\n", " ");
    section.lines().map(without_remark).filter(|line| line.contains("checkstone")).collect()
}

/// A repository in which an agent edited a file and was held, with a remote, and with what the pages name.
fn stage(world: &World) {
    let remote = world.sandbox.path("remote.git");
    let place = remote.to_str().unwrap();
    world.git(&["clone", "--quiet", "--bare", ".", place]);
    world.git(&["remote", "add", "origin", place]);
    world.git(&["fetch", "--quiet", "origin"]);
    world.git(&["branch", "--set-upstream-to=origin/main", "--quiet"]);
    let mut session = Session::named(world, "claude", "11111111-2222-4333-8444-555555555555");
    session.prompt("Fix add");
    session.edit("calc.py", "def add(a, b):\n    return a + b\n");
    session.stop("Done.").holds();
    let transcript = fs_err::read(&session.transcript).unwrap();
    for name in [".claude/projects/my-project/SESSION.jsonl", ".codex/sessions/none", ".gemini/tmp/none"] {
        world
            .sandbox
            .write(world.home.join(name), if name.ends_with("none") { &[][..] } else { &transcript[..] });
    }
    for name in ["SESSION.jsonl", "rollout.jsonl"] {
        world.sandbox.write(world.repository.join(name), &transcript);
    }
    world.write("payload.json", &session.stop_event().to_string());
    world
        .write(".git/info/exclude", "/SESSION.jsonl\n/rollout.jsonl\n/payload.json\n/reports/\n/plan.toml\n");
    let bin = world.home.join("bin");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_checkstone"), {
        fs_err::create_dir_all(&bin).unwrap();
        bin.join("checkstone")
    })
    .unwrap();
    world.sandbox.script(bin.join("pytest"), "echo '==== 1 passed in 0.01s ===='");
    world.sandbox.script(bin.join("cargo"), "echo 'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s'");
    world.sandbox.script(bin.join("make"), "exec pytest");
}

/// How a line ended: its exit code, and what it printed.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    printed: String,
}

fn shell(world: &World, line: &str) -> Command {
    let mut command = world.sandbox.prepared(Command::new("sh"));
    let path = format!("{}:{}", world.home.join("bin").display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).env("BROWSER", "true").args(["-c", line]).current_dir(&world.repository);
    command
}

/// Runs it with a person at the terminal who says yes to every question.
fn run(world: &World, line: &str) -> Ended {
    let (person, console) = terminal();
    let mut person = File::from(person);
    person.write_all(&b"y\n".repeat(8)).unwrap();
    let mut command = shell(world, line);
    command.stdin(Stdio::from(console)).stdout(Stdio::piped()).stderr(Stdio::piped());
    let answer = finish(command.spawn().unwrap());
    Ended { code: answer.code, printed: format!("{}{}", answer.stdout, answer.stderr) }
}

/// Starts it, and ends it when it has printed something.
fn run_until_it_prints(world: &World, line: &str) -> Ended {
    let (person, console) = terminal();
    let mut command = shell(world, &format!("exec 2>&1; {line}"));
    command.stdin(Stdio::from(console)).stdout(Stdio::piped()).process_group(0);
    let mut child = command.spawn().unwrap();
    let mut first = [0; 1];
    let has_printed = child.stdout.as_mut().unwrap().read(&mut first).unwrap() == 1;
    let group = Pid::from_child(&child);
    let _ = kill_process_group(group, Signal::TERM);
    drop(person);
    let answer = finish(child);
    let code = if has_printed { Some(0) } else { answer.code };
    Ended { code, printed: answer.stdout }
}

/// Whether these words are the first of the line.
fn begins(line: &str, words: &str) -> bool {
    line.strip_prefix(words).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
}

/// What went wrong on a page.
fn problems(page: &Page, scenario: &Scenario) -> Vec<String> {
    let section = scenario.section(&page.name);
    let is_skipped = |line: &String| section.skipped.iter().any(|(start, _)| begins(line, start));
    let lines: Vec<&String> = page.lines.iter().filter(|line| !is_skipped(line)).collect();
    if lines.is_empty() {
        return Vec::new();
    }
    let world = World::new(PYTHON);
    stage(&world);
    let mut problems = Vec::new();
    for line in &section.before {
        let ended = run(&world, line);
        if ended.code != Some(0) {
            problems.push(format!("{}: before `{line}`: {ended:?}", page.name));
        }
    }
    for line in lines {
        let real = scenario.instead.iter().fold(line.clone(), |line, (text, real)| line.replace(text, real));
        let lasts = section.lasting.iter().any(|start| begins(line, start));
        let ended = if lasts { run_until_it_prints(&world, &real) } else { run(&world, &real) };
        let exit = section.exits.iter().find(|(start, _)| begins(line, start));
        let expected = exit.map_or(0, |(_, code)| *code);
        if ended.code != Some(expected) {
            problems.push(format!(
                "{}: `{line}` ended with {:?}, not {expected}:\n{}",
                page.name, ended.code, ended.printed
            ));
        }
    }
    problems
}

#[track_caller]
fn all_run(pages: Vec<Page>) {
    let scenario = Scenario::read();
    let only = std::env::var("DOCUMENTED_PAGE").ok();
    let pages: Vec<Page> =
        pages.into_iter().filter(|page| only.as_ref().is_none_or(|only| page.name.contains(only))).collect();
    let next = Mutex::new(pages.iter());
    let found = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(page) = next.lock().unwrap().next() else { return };
                    let problems = problems(page, &scenario);
                    found.lock().unwrap().extend(problems);
                }
            });
        }
    });
    let found = found.into_inner().unwrap();
    assert!(found.is_empty(), "{} lines:\n\n{}", found.len(), found.join("\n\n"));
}

#[test]
fn every_command_line_of_the_documents_runs() {
    let pages = documents();
    assert!(pages.len() > 10, "{pages:?}");
    all_run(pages);
}

#[test]
fn every_example_of_the_help_runs() {
    let pages = helps();
    assert!(pages.len() > 30, "{}", pages.len());
    all_run(pages);
}

/// What is named in the data file is still in a document: nothing is skipped that nobody shows any more.
#[test]
fn nothing_is_excepted_that_is_not_shown() {
    let scenario = Scenario::read();
    let pages: Vec<Page> = documents().into_iter().chain(helps()).collect();
    let lines = |page: &str| {
        let pages = pages.iter().filter(|one| page == "*" || one.name == page);
        pages.flat_map(|page| page.lines.iter()).collect::<Vec<_>>()
    };
    for section in &scenario.sections {
        let lines = lines(&section.page);
        assert!(!lines.is_empty(), "there is no page `{}`", section.page);
        let starts = section.exits.iter().map(|(start, _)| start).chain(&section.lasting);
        let starts = starts.chain(section.skipped.iter().map(|(start, _)| start));
        for start in starts {
            assert!(lines.iter().any(|line| begins(line, start)), "{}: nobody shows `{start}`", section.page);
        }
    }
    for (text, _) in &scenario.instead {
        let is_shown = lines("*").iter().any(|line| line.contains(text));
        assert!(is_shown, "nobody shows `{text}`");
    }
}
