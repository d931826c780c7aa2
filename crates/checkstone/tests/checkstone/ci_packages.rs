//! The steps of the GitHub Action and of the GitLab job, run in real clones as their runners do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sandbox::{Answer, RunToEnd as _, redacted};

use crate::shared_work::{FIXED, Machine, SharedWork};

fn package(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packages").join(name).canonicalize().unwrap()
}

/// A step of a composite action.
#[derive(Debug, Default)]
struct Step {
    condition: Option<String>,
    environment: Vec<(String, String)>,
    run: String,
}

/// The steps of the Action, and the defaults of its inputs: as much YAML as it is written in.
fn action() -> (Vec<Step>, BTreeMap<String, String>) {
    let text = fs_err::read_to_string(package("github").join("action.yml")).unwrap();
    let (head, body) = text.split_once("  steps:\n").unwrap();
    let mut inputs = BTreeMap::new();
    let mut input = String::new();
    for line in head.lines() {
        match (line.strip_prefix("    default: "), line.strip_prefix("  ")) {
            (Some(value), _) => drop(inputs.insert(input.clone(), value.trim_matches('"').to_owned())),
            (None, Some(name)) if !name.starts_with(' ') => input = name.trim_end_matches(':').to_owned(),
            _ => {}
        }
    }
    let mut steps: Vec<Step> = Vec::new();
    for line in body.lines() {
        let (key, value) = line.trim_start_matches([' ', '-']).split_once(':').unwrap();
        let value = value.trim().to_owned();
        match (key, line.starts_with("        ")) {
            ("name", _) => steps.push(Step::default()),
            ("if", _) => steps.last_mut().unwrap().condition = Some(value),
            ("run", _) => steps.last_mut().unwrap().run = value,
            (_, true) => steps.last_mut().unwrap().environment.push((key.to_owned(), value)),
            _ => assert!(matches!(key, "shell" | "env"), "{line}"),
        }
    }
    (steps, inputs)
}

/// Runs the Action to its first failing step, and returns all that its steps answered.
fn run_action(machine: &Machine<'_>, with: &[(&str, &str)], github: &[(&str, &str)]) -> Vec<Answer> {
    let (steps, mut inputs) = action();
    for (name, value) in with {
        assert!(inputs.insert((*name).to_owned(), (*value).to_owned()).is_some(), "no input `{name}`");
    }
    let filled = |value: &str| {
        let expression = value.strip_prefix("${{ ").and_then(|value| value.strip_suffix(" }}"));
        match expression.map(|expression| expression.split_once('.').unwrap()) {
            Some(("inputs", name)) => inputs[name].clone(),
            Some(("github", "event.before")) => {
                github.iter().find(|(name, _)| *name == "before").map_or("", |(_, value)| value).to_owned()
            }
            _ => panic!("{value}"),
        }
    };
    let mut answers: Vec<Answer> = Vec::new();
    for step in steps {
        if step
            .condition
            .is_some_and(|condition| condition == "inputs.prove != ''" && inputs["prove"].is_empty())
        {
            continue;
        }
        // As the runner starts `shell: bash`.
        let mut command = machine.command("bash");
        command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &step.run]);
        command.env("GITHUB_ACTIONS", "true").env("GITHUB_ACTION_PATH", package("github"));
        command.envs(github.iter().filter(|(name, _)| name.starts_with("GITHUB_")).copied());
        command.envs(step.environment.iter().map(|(name, value)| (name, filled(value))));
        let answer = command.answer();
        let failed = !answer.succeeded();
        answers.push(answer);
        if failed {
            break;
        }
    }
    answers
}

fn shown(answers: &[Answer]) -> String {
    redacted(answers.iter().map(|answer| format!("{answer}\n")).collect::<String>())
}

/// A pull request at the remote with the merge that GitHub makes of it, and a job's clone of depth 1, as `actions/checkout` makes it.
fn checked_out<'a>(work: &'a SharedWork, author: &Machine<'_>, name: &str) -> Machine<'a> {
    author.git(&["push", "--quiet", "--force", "origin", "fix"]);
    author.git(&["fetch", "--quiet", "origin"]);
    author.git(&["switch", "--quiet", "--detach", "origin/main"]);
    author.git(&["merge", "--quiet", "--no-edit", "--no-ff", "fix"]);
    author.git(&["push", "--quiet", "--force", "origin", "HEAD:refs/pull/1/merge"]);
    author.git(&["switch", "--quiet", "fix"]);
    let job = work.machine_with(name, &["--depth", "1", "--no-checkout"]);
    job.git(&["fetch", "--quiet", "--depth", "1", "origin", "+refs/pull/1/merge:refs/remotes/pull/1/merge"]);
    job.git(&["checkout", "--quiet", "--detach", "refs/remotes/pull/1/merge"]);
    job
}

const PULL_REQUEST: [(&str, &str); 2] = [("GITHUB_BASE_REF", "main"), ("GITHUB_REF", "refs/pull/1/merge")];

#[test]
fn the_action_checks_a_pull_request() {
    let work = SharedWork::new();
    let author = work.machine("author");
    author.branch("fix", FIXED);
    let unproven = run_action(&checked_out(&work, &author, "job-1"), &[], &PULL_REQUEST);
    insta::assert_snapshot!("action_unproven", shown(&unproven));
    // The job runs the tests itself.
    let job = checked_out(&work, &author, "job-2");
    let red = run_action(&job, &[("prove", "RED=1 pytest")], &PULL_REQUEST);
    assert_eq!(red.iter().map(|answer| answer.code).collect::<Vec<_>>(), [Some(0), Some(1)]);
    let reports = [("prove", "pytest"), ("sarif", "out.sarif"), ("junit", "out.xml")];
    insta::assert_snapshot!("action_proven", shown(&run_action(&job, &reports, &PULL_REQUEST)));
    assert!(job.folder().join("out.sarif").exists() && job.folder().join("out.xml").exists());
    // Or its author has attested that they ran.
    author.prove();
    assert_eq!(author.run(&["attest", "--push"]).code, Some(0));
    let job = checked_out(&work, &author, "job-3");
    insta::assert_snapshot!("action_attested", shown(&run_action(&job, &[], &PULL_REQUEST)));
    let distrusting = run_action(&job, &[("attestations", "false")], &PULL_REQUEST);
    assert_eq!(distrusting.last().unwrap().code, Some(1));
}

#[test]
fn the_action_checks_a_push() {
    let work = SharedWork::new();
    let author = work.machine("author");
    let before = author.id("HEAD");
    author.write("calc.py", FIXED);
    author.commit("Fix add");
    author.git(&["push", "--quiet", "origin", "main"]);
    let job = work.machine_with("job", &["--depth", "1"]);
    let codes = |before: &str| {
        let github = [("GITHUB_REF", "refs/heads/main"), ("before", before)];
        run_action(&job, &[], &github).iter().map(|answer| answer.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(&before), [Some(0), Some(1)]);
    // A new branch, and one whose former commit is gone, are compared with the main branch.
    assert_eq!(codes(&"0".repeat(40)), [Some(0), Some(0)]);
    assert_eq!(codes(&"1".repeat(40)), [Some(0), Some(0)]);
}

#[test]
fn the_action_says_what_it_needs() {
    let work = SharedWork::new();
    let author = work.machine("author");
    author.branch("fix", FIXED);
    let job = checked_out(&work, &author, "job");
    fs_err::remove_file(work.sandbox.path("bin/checkstone")).unwrap();
    let missing = "exit code: 1\n--- stdout\n::error title=checkstone::checkstone is not installed. Add a step before this one, such as: \
        npm install --global checkstone\n--- stderr\n\n";
    assert_eq!(shown(&run_action(&job, &[], &PULL_REQUEST)), missing);
}

#[test]
fn the_job_of_gitlab_checks_a_merge_request() {
    let text = fs_err::read_to_string(package("gitlab").join("checkstone.yml")).unwrap();
    let (_, script) = text.split_once("  script:\n").unwrap();
    let lines: Vec<&str> = script.lines().map_while(|line| line.strip_prefix("    - ")).collect();
    assert_eq!(lines.len(), 3);
    let work = SharedWork::new();
    let author = work.machine("author");
    author.branch("fix", FIXED);
    author.git(&["push", "--quiet", "origin", "fix"]);
    let base = author.id("main");
    let run = |name: &str, prove: &str| {
        let job = work.machine_with(name, &["--branch", "fix"]);
        job.git(&["switch", "--quiet", "--detach"]);
        let mut command = job.command("sh");
        // As the runner does: one line after the other, to the first that fails.
        command.args(["-ec", &lines.join("\n")]);
        command.env("CHECKSTONE_PROVE", prove).env("CI_MERGE_REQUEST_DIFF_BASE_SHA", &base);
        let answer = command.answer();
        (redacted(answer.to_string()), fs_err::read_to_string(job.folder().join("checkstone.xml")).unwrap())
    };
    let (said, report) = run("job-1", "");
    insta::assert_snapshot!("gitlab_unproven", format!("{said}\n{report}"));
    let (said, report) = run("job-2", "pytest");
    insta::assert_snapshot!("gitlab_proven", format!("{said}\n{report}"));
    author.prove();
    assert_eq!(author.run(&["attest", "--push"]).code, Some(0));
    insta::assert_snapshot!("gitlab_attested", run("job-3", "").0);
}
