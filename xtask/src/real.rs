//! `cargo xtask real`: the gate on sessions of real people. For each repository the policy that `checkstone init` writes in a
//! checkout of it is replayed over its transcripts, and what it holds is compared with labels that were given by reading.
//! Transcripts and checkouts stay where they are; nothing of them is kept.

mod comparison;
mod label;
mod replayed;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use clap::Args;

use crate::process::cargo_command;
use crate::root;
use comparison::Comparison;
use label::Label;
use replayed::Replayed;

/// What is measured, and with what.
#[derive(Args)]
pub(crate) struct RealArguments {
    /// Transcripts, as `AGENT/OWNER+NAME/SESSION.jsonl`
    #[arg(long, value_name = "DIR")]
    corpus: PathBuf,
    /// Labels, one JSON object a line: agent, repo, session, line, label; may be given several times
    #[arg(long, value_name = "FILE", required = true)]
    labels: Vec<PathBuf>,
    /// Checkouts of the repositories, as `OWNER+NAME`
    #[arg(long, value_name = "DIR")]
    checkouts: PathBuf,
    /// The program to measure, instead of the one that is built now
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Replay every transcript, and not only those with a label
    #[arg(long)]
    all: bool,
    /// Only this repository, as `owner/name`
    #[arg(long, value_name = "REPO")]
    only: Option<String>,
}

pub(crate) fn run(arguments: &RealArguments) -> Result<(), String> {
    let began = Instant::now();
    let program = match &arguments.program {
        Some(program) => fs_err::canonicalize(program).map_err(|error| error.to_string())?,
        None => build()?,
    };
    let mut labels: BTreeMap<String, Vec<Label>> = BTreeMap::new();
    for file in &arguments.labels {
        for label in label::read(file)? {
            labels.entry(label.repo.clone()).or_default().push(label);
        }
    }
    let mut comparison = Comparison::default();
    let repositories: Vec<String> = match arguments.all {
        true => folders(&arguments.checkouts)?,
        false => labels.keys().cloned().collect(),
    };
    for repository in repositories {
        if arguments.only.as_ref().is_some_and(|only| *only != repository) {
            continue;
        }
        let labels = labels.remove(&repository).unwrap_or_default();
        let files = transcripts(&arguments.corpus, &repository, (!arguments.all).then_some(&labels))?;
        if files.is_empty() {
            return Err(format!("there are no transcripts of `{repository}` below the corpus"));
        }
        let checkout = arguments.checkouts.join(repository.replacen('/', "+", 1));
        let replayed = Replayed::new(&program, &checkout, &files)?;
        comparison.add(&repository, &labels, &replayed);
    }
    print!("{comparison}");
    println!("\n{:.0} s", began.elapsed().as_secs_f32());
    Ok(())
}

fn build() -> Result<PathBuf, String> {
    crate::process::run(cargo_command().args(["build", "--release", "--quiet", "--package", "checkstone"]))?;
    Ok(root().join("target/release/checkstone"))
}

/// The repositories that have a checkout.
fn folders(checkouts: &Path) -> Result<Vec<String>, String> {
    let entries = fs_err::read_dir(checkouts).map_err(|error| error.to_string())?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.map(|name| name.replacen('+', "/", 1)).collect();
    names.sort();
    Ok(names)
}

/// The transcripts of a repository; where labels are given, only those that they name.
fn transcripts(corpus: &Path, repository: &str, labels: Option<&Vec<Label>>) -> Result<Vec<PathBuf>, String> {
    let folder = repository.replacen('/', "+", 1);
    let mut found = Vec::new();
    for agent in fs_err::read_dir(corpus).map_err(|error| error.to_string())? {
        let agent = agent.map_err(|error| error.to_string())?.path().join(&folder);
        let Ok(entries) = fs_err::read_dir(&agent) else { continue };
        found.extend(entries.filter_map(|entry| Some(entry.ok()?.path())));
    }
    if let Some(labels) = labels {
        found.retain(|file| labels.iter().any(|label| label.is_of(file)));
    }
    found.sort();
    Ok(found)
}

/// A command that sees nothing of the person's own configuration.
fn isolated(program: &Path, home: &Path) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("HOME", home).env("PATH", crate::process::path());
    command
}
