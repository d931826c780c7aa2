//! Records what test runners print: each of the small projects of `summaries/projects.txt` is laid out in a folder of its
//! own, its commands are run there, and what they print is kept for the tests of `outputs`, paths and times made the same
//! for everybody. A runner that is not installed is left out, and its recordings stay.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex::Regex;

use crate::{process, root};

const PROJECTS: &str = include_str!("summaries/projects.txt");

const RECORDINGS: &str = "crates/outputs/tests/recorded";

/// A project with its commands.
#[derive(Default)]
struct RecordedProject {
    name: String,
    program: String,
    /// The name of each recording, and its command.
    cases: Vec<(String, String)>,
    files: Vec<(String, String)>,
}

/// Records all projects, or only those with these names.
pub(crate) fn record(only: &[String]) -> Result<(), String> {
    let projects = projects();
    let chosen = projects.iter().filter(|project| only.is_empty() || only.contains(&project.name));
    for project in chosen {
        match installed(&project.program) {
            Some(program) => record_project(project, &program)?,
            None => println!("{}: `{}` is not installed, its recordings stay", project.name, project.program),
        }
    }
    Ok(())
}

fn projects() -> Vec<RecordedProject> {
    let mut projects: Vec<RecordedProject> = Vec::new();
    for line in PROJECTS.lines() {
        if let Some((name, program)) = line.strip_prefix("== ").and_then(|line| line.split_once(": ")) {
            let (name, program) = (name.to_owned(), program.to_owned());
            projects.push(RecordedProject { name, program, ..RecordedProject::default() });
            continue;
        }
        let Some(project) = projects.last_mut() else { continue };
        if let Some(file) = line.strip_prefix("-- ") {
            project.files.push((file.to_owned(), String::new()));
        } else if let Some((_, content)) = project.files.last_mut() {
            content.push_str(line);
            content.push('\n');
        } else if let Some((case, command)) = line.split_once(": ") {
            project.cases.push((case.to_owned(), command.to_owned()));
        }
    }
    projects
}

fn installed(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&process::path()).map(|folder| folder.join(program)).find(|file| file.is_file())
}

fn record_project(project: &RecordedProject, program: &Path) -> Result<(), String> {
    for (case, command) in &project.cases {
        let text = recording(project, command, program).map_err(|error| error.to_string())?;
        let file = root().join(RECORDINGS).join(format!("{}-{case}.txt", project.name));
        fs_err::write(file, text).map_err(|error| error.to_string())?;
        println!("{}: {case}", project.name);
    }
    Ok(())
}

/// What is kept of a command: itself in the first line, and what it prints in a fresh copy of the project.
fn recording(project: &RecordedProject, command: &str, program: &Path) -> Result<String, Box<dyn Error>> {
    let folder = tempfile::Builder::new().prefix("recorded").tempdir()?;
    let place = folder.path().canonicalize()?.join("project");
    for (file, content) in &project.files {
        let file = place.join(file);
        fs_err::create_dir_all(file.parent().unwrap_or(&place))?;
        fs_err::write(file, content)?;
    }
    // A runner from npm looks for its own packages beside the tests.
    let packages = program.ancestors().find(|folder| folder.ends_with("node_modules"));
    if let Some(packages) = packages {
        fs_err::os::unix::fs::symlink(packages, place.join("node_modules"))?;
    }
    let printed = printed(command, &place)?;
    Ok(format!("# recorded: {command}\n{}", normalised(&printed, &place, program, packages)?))
}

/// What the command prints, both streams in the order in which they were written.
fn printed(command: &str, place: &Path) -> std::io::Result<String> {
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("exec 2>&1\n{command}")]).current_dir(place).stdin(Stdio::null());
    shell.env("LC_ALL", "C.UTF-8").env("CARGO_TARGET_DIR", place.join("target")).env_remove("RUST_BACKTRACE");
    Ok(String::from_utf8_lossy(&shell.output()?.stdout).into_owned())
}

/// Without what differs from one machine, and from one run, to the next.
fn normalised(
    printed: &str,
    place: &Path,
    program: &Path,
    packages: Option<&Path>,
) -> Result<String, regex::Error> {
    let mut text = printed.to_owned();
    if let Some(packages) = packages {
        text = text.replace(&packages.display().to_string(), "/project/node_modules");
    }
    text = text.replace(&place.display().to_string(), "/project");
    text = text.replace(&program.parent().unwrap_or(program).display().to_string(), "/usr/bin");
    for (pattern, same) in [
        (r"/(root|home/[^/\s]+)/", "/home/me/"),
        (r"\d{4}-\d\d-\d\d([T ])\d\d:\d\d:\d\d(\.\d+)?", "2026-01-05${1}10:00:00"),
        (r"\b\d\d:\d\d:\d\d\b", "10:00:00"),
        (r"\b\d+\.\d+(e-\d+)?(\s?)(ms|µs|us|ns|s|secs?|seconds?|wallclock secs)\b", "0.01$2$3"),
        (r"\b\d+(\s?)(ms|µs|us|ns)\b", "1$1$2"),
        (r#""Elapsed":[\d.]+"#, "\"Elapsed\":0.01"),
        (r"(duration_ms:? )[\d.]+", "${1}1.0"),
        (r"([Ss]eed[:= ]+)\d+", "${1}1"),
        (r"\bpid=\d+", "pid=1"),
        (r"\bin \d+s\b", "in 1s"),
        (r"\b\d\d:\d\d\.\d{3}\b", "00:00.010"),
        (r"\d+\.\d\d (usr|sys|cusr|csys|CPU)", "0.01 $1"),
        (r"\b\d+ wallclock", "1 wallclock"),
        (r"0x[0-9a-f]{5,}", "0x12345"),
        (r"[0-9a-f]{32}", "0123456789abcdef0123456789abcdef"),
        (r" \w+ MaxRSS:\w+", " 1ms MaxRSS:1M"),
        (r"[\d.]+=setup\[[\d.]+\]\+cmd\[[\d.]+\]", "0.02=setup[0.01]+cmd[0.01]"),
        (r"\d\d \d\d \d{4} 10:00:00\.\d+", "05 01 2026 10:00:00.000"),
        (r"socket \S+ with id \d+", "socket abc with id 1"),
        (
            r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "01234567-89ab-cdef-0123-456789abcdef",
        ),
        (r"\(\d+\) panicked", "(1) panicked"),
        (r"\d+\.\d+( (runs|tests|assertions)/s)", "100.00$1"),
        (r"-[0-9a-f]{16}\b", "-0123456789abcdef"),
    ] {
        text = Regex::new(pattern)?.replace_all(&text, same).into_owned();
    }
    Ok(text)
}
