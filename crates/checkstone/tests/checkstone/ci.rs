//! `checkstone ci`: pull requests in real repositories with a bare remote between the people and the job.

use std::process::Command;

use sandbox::{RunToEnd as _, redacted};
use serde_json::{Value, json};

use crate::shared_work::{FIXED, Machine, SharedWork};
use crate::workplace::valid;

const UNPROVEN: &str = "unproven  1 file of 1 in `origin/main...[hash]` (1 commit)\n\npython-tests: Run `pytest`\n  calc.py\n\n\
    Run it in this job with `checkstone prove -- pytest`, or on your own machine, followed by `checkstone attest --push`.\n";
const PROVEN_HERE: &str = "proven  1 file in `origin/main...[hash]` (1 commit)\n  python-tests: 1 file by `pytest`, run on \
    this machine\n";
const RECORDS: &str = "Attestations are records, not proofs against a liar: they are not signed.\n";

fn answer(code: u8, stdout: &str, stderr: &str) -> String {
    format!("exit code: {code}\n--- stdout\n{stdout}--- stderr\n{stderr}")
}

fn attested(base: &str, commits: &str) -> String {
    let file = "  python-tests: 1 file by `pytest`, attested in [hash]\n";
    answer(0, &format!("proven  1 file in `{base}...[hash]` ({commits})\n{file}{RECORDS}"), "")
}

/// A branch `fix` at the remote, and its author's machine.
fn pull_request(work: &SharedWork) -> Machine<'_> {
    let author = work.machine("author");
    author.branch("fix", FIXED);
    author.git(&["push", "--quiet", "--set-upstream", "origin", "fix"]);
    author
}

/// A job's clone: HEAD is on no branch, and the notes are fetched if there are any.
fn job<'a>(work: &'a SharedWork, name: &str, branch: &str) -> Machine<'a> {
    let job = work.machine_with(name, &["--branch", branch]);
    job.git(&["switch", "--quiet", "--detach"]);
    fetch_notes(&job);
    job
}

fn fetch_notes(job: &Machine<'_>) {
    job.git(&["fetch", "--quiet", "origin", "+refs/notes/*:refs/notes/*"]);
}

#[test]
fn a_pull_request_is_proven_by_what_its_job_runs() {
    let work = SharedWork::new();
    pull_request(&work);
    let job = job(&work, "job", "fix");
    assert_eq!(job.shown(&["ci"]), answer(1, UNPROVEN, ""));
    // A run that fails proves nothing.
    let red = job.checkstone(&["prove", "--", "pytest"]).env("RED", "1").answer();
    assert_eq!(red.code, Some(1));
    assert_eq!(job.run(&["ci"]).code, Some(1));
    job.prove();
    assert_eq!(job.shown(&["ci"]), answer(0, PROVEN_HERE, ""));
    let same = job.shown(&["ci", "--base", "origin/main", "--ignore-attestations"]);
    assert_eq!(same, answer(0, PROVEN_HERE, ""));
}

#[test]
fn a_pull_request_is_proven_by_what_its_author_attests() {
    let work = SharedWork::new();
    let author = pull_request(&work);
    author.prove();
    assert_eq!(author.run(&["attest", "--push"]).code, Some(0));
    let job = job(&work, "job", "fix");
    assert_eq!(job.shown(&["ci"]), attested("origin/main", "1 commit"));
    assert_eq!(job.shown(&["ci", "--ignore-attestations"]), answer(1, UNPROVEN, ""));
    let output = job.json(&["ci", "--json"], "ci.schema.json");
    let (base, head) = (author.id("origin/main"), author.id("HEAD"));
    assert_eq!(output["proofs"][0]["attested_in"], json!(head));
    assert_eq!(
        (&output["base_commit"], &output["start"], &output["head"]),
        (&json!(base), &json!(base), &json!(head))
    );
    // A commit more, and what was proven before does not speak for it.
    author.write("calc.py", "def add(a, b):\n    return b + a\n");
    author.commit("Turn around");
    author.git(&["push", "--quiet"]);
    job.git(&["fetch", "--quiet", "origin", "fix"]);
    job.git(&["checkout", "--quiet", "--detach", "FETCH_HEAD"]);
    assert_eq!(job.shown(&["ci"]), answer(1, &UNPROVEN.replace("1 commit)", "2 commits)"), ""));
    // Force-pushed back to what it was, under another message: the tree is the same.
    author.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    author.git(&["commit", "--quiet", "--amend", "--message", "Fix the sum"]);
    author.git(&["push", "--quiet", "--force"]);
    job.git(&["fetch", "--quiet", "origin", "fix"]);
    job.git(&["checkout", "--quiet", "--detach", "FETCH_HEAD"]);
    assert_eq!(job.run(&["ci"]).code, Some(0));
}

/// A squash makes another commit with the same tree; the merge that a host makes of a pull request has another tree.
#[test]
fn merges_and_squashes_are_known_by_their_contents() {
    let work = SharedWork::new();
    let author = pull_request(&work);
    author.prove();
    assert_eq!(author.run(&["attest", "--push"]).code, Some(0));
    // Meanwhile somebody else's work was merged, unproven.
    let other = work.machine("other");
    other.write("other.py", "def other():\n    return 1\n");
    other.commit("Other");
    other.git(&["push", "--quiet"]);
    let job = job(&work, "job", "main");
    job.git(&["merge", "--quiet", "--no-edit", "origin/fix"]);
    assert_eq!(job.shown(&["ci"]), attested("origin/main", "2 commits"));
    // Without the other work, squashed.
    let maintainer = work.machine("first");
    maintainer.git(&["fetch", "--quiet", "origin", "fix", "+refs/notes/*:refs/notes/*"]);
    maintainer.git(&["merge", "--quiet", "--squash", "origin/fix"]);
    maintainer.commit("Fix add (#1)");
    assert_eq!(maintainer.id("HEAD^{tree}"), author.id("HEAD^{tree}"));
    let shown = maintainer.shown(&["ci", "--base", "HEAD~1"]);
    assert_eq!(shown, attested("HEAD~1", "1 commit"));
}

#[test]
fn a_clone_without_the_history_says_what_to_fetch() {
    let work = SharedWork::new();
    let author = pull_request(&work);
    author.git(&["switch", "--quiet", "main"]);
    author.write("README.md", "Words\n");
    author.commit("Words");
    author.git(&["push", "--quiet"]);
    let job = work.machine_with("job", &["--depth", "1", "--no-single-branch", "--branch", "fix"]);
    let shallow = "error: this clone is shallow, and does not have the commit where `origin/main` and `HEAD` diverged\nhint: fetch the \
        whole history: `git fetch --unshallow`, `fetch-depth: 0` for `actions/checkout`, `GIT_DEPTH: 0` in GitLab\n";
    assert_eq!(job.shown(&["ci"]), answer(3, "", shallow));
    job.git(&["fetch", "--quiet", "--unshallow"]);
    assert_eq!(job.shown(&["ci"]), answer(1, UNPROVEN, ""));
    // Histories that have nothing in common are compared as they are.
    job.git(&["switch", "--quiet", "--orphan", "alone"]);
    job.write("alone.py", "def one():\n    return 1\n");
    job.write("tests/test_alone.py", "from alone import one\n\n\ndef test_one():\n    assert one() == 1\n");
    job.commit("Alone");
    let output = job.json(&["ci", "--json", "--base", "origin/main"], "ci.schema.json");
    let files: Vec<&Value> = output["missing"].as_array().unwrap().iter().map(|one| &one["path"]).collect();
    assert_eq!(files, [&json!("alone.py"), &json!("tests/test_alone.py")]);
    let unknown = "error: there is no commit `nope` here\nhint: fetch it first, or name another one\n";
    assert_eq!(job.shown(&["ci", "--base", "nope"]), answer(3, "", unknown));
    job.git(&["remote", "remove", "origin"]);
    let nothing = "error: cannot tell which branch the commits will be merged into\nhint: name it: `checkstone ci --base main`\n";
    assert_eq!(job.shown(&["ci"]), answer(2, "", nothing));
}

/// The held party does not hold the switch.
#[test]
fn the_policy_of_the_base_counts() {
    let work = SharedWork::new();
    let author = pull_request(&work);
    author.write("checkstone.toml", "presets = []\n");
    author.commit("No more tests");
    let changed = "The policy changes: `presets` in `checkstone.toml`. ";
    let by_base = format!(
        "{}{changed}The policy of `origin/main` counts until this is merged.\n",
        UNPROVEN.replace("1 commit)", "2 commits)")
    );
    assert_eq!(author.shown(&["ci"]), answer(1, &by_base, ""));
    let by_head = format!(
        "proven  nothing in `origin/main...[hash]` (2 commits) needs proof\n{changed}The changed policy was used.\n"
    );
    assert_eq!(author.shown(&["ci", "--policy", "head"]), answer(0, &by_head, ""));
    author.git(&["rm", "--quiet", "checkstone.toml"]);
    author.commit("No policy");
    assert_eq!(author.run(&["ci"]).code, Some(1));
    // A first policy counts at once, and one that is broken for nobody.
    author.git(&["push", "--quiet", "origin", "HEAD:main"]);
    author.git(&["fetch", "--quiet", "origin"]);
    author.git(&["switch", "--quiet", "--create", "again"]);
    author.write("calc.py", "def add(a, b):\n    return b + a\n");
    author.commit("Turn around");
    let none = "proven  nothing in `origin/main...[hash]` (1 commit): there is no policy\n";
    assert_eq!(author.shown(&["ci"]), answer(0, none, ""));
    author.write("checkstone.toml", "presets = [\"python\"]\n");
    author.commit("A policy");
    assert_eq!(author.json(&["ci", "--json"], "ci.schema.json")["policy"], "head");
    assert_eq!(author.run(&["ci"]).code, Some(1));
    author.write("checkstone.toml", "presetz = [\"python\"]\n");
    author.commit("A mistake");
    let broken = "error: the policy has 1 mistake:\ncheckstone.toml:1:1: unknown key `presetz`; did you mean `presets`?\nhint: nothing \
        can be verified until you fix this\n";
    assert_eq!(author.shown(&["ci"]), answer(2, "", broken));
}

/// Anybody who can push may write notes: what is no attestation of the very commit says nothing.
#[test]
fn notes_that_are_broken_huge_or_of_another_commit_prove_nothing() {
    let work = SharedWork::new();
    let author = pull_request(&work);
    author.prove();
    assert_eq!(author.run(&["attest"]).code, Some(0));
    let good = author.git(&["notes", "--ref=checkstone", "show", "HEAD"]);
    author.git(&["update-ref", "-d", "refs/notes/checkstone"]);
    let job = job(&work, "job", "fix");
    let note = |text: &str| {
        job.git(&["notes", "--ref=checkstone", "remove", "--ignore-missing", "HEAD"]);
        fs_err::write(work.sandbox.path("note"), text).unwrap();
        job.git(&[
            "notes",
            "--ref=checkstone",
            "add",
            "--file",
            work.sandbox.path("note").to_str().unwrap(),
            "HEAD",
        ]);
        job.shown(&["ci"])
    };
    let ignored = |count: &str| {
        let verb = if count == "1 line" { "is" } else { "are" };
        let said = format!(
            "warning: {count} in the note of [hash] {verb} not an attestation of it and {verb} ignored\n"
        );
        answer(1, UNPROVEN, &said)
    };
    assert_eq!(note("looks good\nto me\n"), ignored("2 lines"));
    assert_eq!(note(&"[".repeat(100_000)), ignored("1 line"));
    assert_eq!(note(&good.replace("proven-contents:v1", "proven-contents:v9")), ignored("1 line"));
    // About another commit.
    let (commit, tree) = (job.id("HEAD"), job.id("HEAD^{tree}"));
    let other = good.replace(&commit, &"1".repeat(40)).replace(&tree, &"2".repeat(40));
    assert_eq!(note(&other), ignored("1 line"));
    // About another content, under another action, of a run that failed.
    assert_eq!(note(&good.replace(&job.id("HEAD:calc.py"), &"3".repeat(40))), answer(1, UNPROVEN, ""));
    assert_eq!(note(&good.replace("\"python-tests\"", "\"other\"")), answer(1, UNPROVEN, ""));
    assert_eq!(note(&good.replace("\"passed\"", "\"failed\"")), answer(1, UNPROVEN, ""));
    let large = "warning: the note of [hash] was not read: it is larger than 1 MiB, or not in this clone\n";
    assert_eq!(note(&format!("{good}\n{}", "x".repeat(1024 * 1024))), answer(1, UNPROVEN, large));
    let mixed = note(&format!("looks good\n{good}"));
    let said = "warning: 1 line in the note of [hash] is not an attestation of it and is ignored\n";
    let proven = attested("origin/main", "1 commit");
    assert_eq!(mixed, format!("{proven}{said}"));
}

/// In a job of GitHub: annotations, and a summary. The runner takes lines of the output for commands, wherever they come from.
#[test]
fn github_shows_what_is_missing() {
    let work = SharedWork::new();
    let author = work.machine("author");
    author.git(&["switch", "--quiet", "--create", "fix"]);
    author.write("::error::x, 50%.py", "def one():\n    return 1\n");
    author.write("<b>.py", "def two():\n    return 2\n");
    author.commit("Names");
    let summary = work.sandbox.write("summary.md", "# Earlier\n");
    let github = |machine: &Machine<'_>, arguments: &[&str]| {
        let mut command: Command = machine.checkstone(arguments);
        command
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_BASE_REF", "main")
            .env("GITHUB_STEP_SUMMARY", &summary);
        redacted(command.answer().to_string())
    };
    insta::assert_snapshot!("annotations", github(&author, &["ci"]));
    insta::assert_snapshot!("summary", redacted(fs_err::read_to_string(&summary).unwrap()));
    // Many files: GitHub shows ten annotations of a step.
    for number in 0..20 {
        author.write(&format!("many/{number}.py"), "def one():\n    return 1\n");
    }
    author.commit("Many");
    let many = github(&author, &["ci"]);
    let annotations: Vec<&str> = many.lines().filter(|line| line.starts_with("::error")).collect();
    assert_eq!(annotations.len(), 10);
    let last = "::error title=checkstone::13 more files unproven; the job's summary lists them";
    assert_eq!(annotations.last(), Some(&last));
    // Nothing but the document with `--json`.
    let mut command = author.checkstone(&["ci", "--json"]);
    valid(&command.env("GITHUB_ACTIONS", "true").answer().stdout, "ci.schema.json");
}

#[test]
fn reports_for_other_programs() {
    let work = SharedWork::new();
    let author = pull_request(&work);
    author.prove();
    author.write("a \"b\" & ü.py", "def one():\n    return 1\n");
    author.commit("Names");
    let answer = author.run(&["ci", "--sarif", "out.sarif", "--junit", "out.xml"]);
    assert_eq!((answer.code, answer.stderr.as_str()), (Some(1), ""));
    let sarif = fs_err::read_to_string(author.folder().join("out.sarif")).unwrap();
    insta::assert_snapshot!("sarif", sarif.replace(env!("CARGO_PKG_VERSION"), "[version]"));
    insta::assert_snapshot!("junit", fs_err::read_to_string(author.folder().join("out.xml")).unwrap());
    // As a parser of XML reads it.
    let names = "import sys, xml.etree.ElementTree as e\nfor c in e.parse('out.xml').iter('testcase'): print(c.get('name'), len(c))";
    let parsed = author.command("python3").args(["-c", names]).answer();
    assert_eq!(parsed.to_string(), "exit code: 0\n--- stdout\na \"b\" & ü.py 1\ncalc.py 0\n--- stderr\n");
    let nowhere = author.shown(&["ci", "--junit", "no/such/folder.xml"]);
    assert_eq!(
        nowhere,
        "exit code: 3\n--- stdout\n--- stderr\nerror: failed to create file `no/such/folder.xml`: No such file or directory\n"
    );
}

/// What is inside a submodule is proven in its own repository; that the pull request takes in another commit of it asks for nothing.
#[test]
fn a_submodule_is_the_affair_of_its_own_repository() {
    let work = SharedWork::new();
    let author = work.machine("author");
    let library = work.sandbox.path("library");
    fs_err::create_dir(&library).unwrap();
    let in_library = |arguments: &[&str]| work.sandbox.git(&library, arguments);
    in_library(&["init", "--quiet", "--initial-branch=main"]);
    let release = |text: &str| {
        work.sandbox.write("library/lib.py", text);
        in_library(&["add", "--all"]);
        in_library(&["commit", "--quiet", "--message", text]);
    };
    release("x = 1\n");
    let allowed = ["-c", "protocol.file.allow=always"];
    author.git(&["switch", "--quiet", "--create", "fix"]);
    author.git(&[&allowed[..], &["submodule", "--quiet", "add", library.to_str().unwrap(), "lib"]].concat());
    author.commit("A library");
    let nothing = "proven  nothing in `origin/main...[hash]` (1 commit) needs proof\n";
    assert_eq!(author.shown(&["ci"]), answer(0, nothing, ""));
    release("x = 2\n");
    author.git(&[&allowed[..], &["submodule", "--quiet", "update", "--remote"]].concat());
    author.write("calc.py", FIXED);
    author.commit("A newer library");
    author.git(&["push", "--quiet", "--set-upstream", "origin", "fix"]);
    assert_eq!(author.run(&["ci"]).code, Some(1));
    author.prove();
    assert!(author.run(&["attest", "--push"]).succeeded());
    // A job need not have checked the submodule out.
    let job = job(&work, "job", "fix");
    assert_eq!(job.shown(&["ci"]), attested("origin/main", "2 commits"));
}

/// Each example of the help does what a person would expect of it.
#[test]
fn the_examples_of_the_help_work() {
    let work = SharedWork::new();
    let author = pull_request(&work);
    author.prove();
    for command in ["attest", "ci"] {
        let help = author.run(&[command, "--help"]).stdout;
        let (_, examples) = help.split_once("Examples:\n").unwrap();
        let examples: Vec<&str> = examples.lines().map_while(|line| line.strip_prefix("  ")).collect();
        assert_eq!(examples.len(), 4, "{command}");
        for example in examples {
            let answer = author.command("sh").args(["-ec", example]).answer();
            assert_eq!(answer.code, Some(0), "{example}: {answer}");
        }
    }
    let reports = ["checkstone.sarif", "checkstone.xml"].map(|name| author.folder().join(name).exists());
    assert_eq!(reports, [true, true]);
}
