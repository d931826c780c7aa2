//! `checkstone attest`: notes in real repositories with a bare remote between them.

use sandbox::{RunToEnd as _, finish, redacted};
use serde_json::{Value, json};

use crate::shared_work::{FIXED, SharedWork};
use crate::workplace::valid;

const RECORD: &str = "A record, not a proof against a liar: it is not signed.\n";

fn answer(code: u8, stdout: &str, stderr: &str) -> String {
    format!("exit code: {code}\n--- stdout\n{stdout}--- stderr\n{stderr}")
}

#[test]
fn what_was_proven_stands_beside_the_commit_and_its_tree() {
    let work = SharedWork::new();
    let machine = work.machine("first");
    machine.branch("fix", FIXED);
    machine.prove();
    let written = format!("attested  [hash]\n  python-tests: 1 file\n{RECORD}");
    assert_eq!(machine.shown(&["attest"]), answer(0, &written, ""));
    let line = machine.git(&["notes", "--ref=checkstone", "show", "HEAD"]);
    let statement = valid(&line, "attestation.schema.json");
    let (commit, tree) = (machine.id("HEAD"), machine.id("HEAD^{tree}"));
    let mut redacted_statement: Value = serde_json::from_str(&redacted(&line)).unwrap();
    redacted_statement["predicate"]["program"] = json!("checkstone");
    assert_eq!(
        redacted_statement,
        json!({
            "_type": "https://in-toto.io/Statement/v1",
            "subject": [{"name": "commit", "digest": {"gitCommit": "[hash]", "gitTree": "[hash]"}}],
            "predicateType": "urn:checkstone:proven-contents:v1",
            "predicate": {
                "meaning": "A record of what checkstone saw when these commands ran. It is not signed: anyone who can push \
                    notes can write one.",
                "program": "checkstone",
                "attested_at": "[time]",
                "base": "[hash]",
                "runs": [{
                    "action": "python-tests",
                    "command": "pytest",
                    "outcome": "passed",
                    "at": "[time]",
                    "agent": null,
                    "files": [{"path": "calc.py", "digest": {"gitBlob": "[hash]"}}],
                }],
                "unproven": [],
            },
        })
    );
    let digest = &statement["subject"][0]["digest"];
    assert_eq!(*digest, json!({"gitCommit": commit, "gitTree": tree}));
    let blob = &statement["predicate"]["runs"][0]["files"][0]["digest"]["gitBlob"];
    assert_eq!(*blob, json!(machine.id("HEAD:calc.py")));
    assert_eq!(statement["predicate"]["base"], json!(machine.id("main")));
    assert_eq!(machine.git(&["notes", "--ref=checkstone", "show", &tree]), line);
    // Once more adds nothing.
    let notes = machine.id("refs/notes/checkstone");
    let known = format!("already attested  [hash]\n  python-tests: 1 file\n{RECORD}");
    assert_eq!(machine.shown(&["attest"]), answer(0, &known, ""));
    assert_eq!(machine.id("refs/notes/checkstone"), notes);
    // The user's own things are as they were.
    assert_eq!(machine.git(&["status", "--porcelain"]), "");
}

#[test]
fn what_is_unproven_is_counted_and_nothing_is_claimed() {
    let work = SharedWork::new();
    let machine = work.machine("first");
    machine.branch("fix", FIXED);
    let nothing = "nothing to attest  nothing in [hash] is proven\nunproven  1 file; `checkstone verify [hash]` lists them\n";
    assert_eq!(machine.shown(&["attest", "--push"]), answer(1, nothing, ""));
    assert_eq!(machine.git(&["for-each-ref", "refs/notes"]), "");
    machine.prove();
    machine.write("more.py", "def sub(a, b):\n    return a - b\n");
    machine.commit("More");
    let output = machine.json(&["attest", "--json"], "attest.schema.json");
    assert_eq!(
        serde_json::from_str::<Value>(&redacted(output.to_string())).unwrap(),
        json!({
            "commit": "[hash]", "tree": "[hash]", "base": "[hash]", "state": "written", "files": 1,
            "actions": {"python-tests": 1},
            "missing": [{"path": "more.py", "action": "python-tests", "say": "Run `pytest`", "since": null, "agent": null,
                "session": null}],
            "pushed": false,
        })
    );
    machine.write("README.md", "Words\n");
    machine.commit("Words");
    let nothing = "nothing to attest  [hash] has nothing that needs proof\n";
    assert_eq!(machine.shown(&["attest", "--base", "HEAD~1"]), answer(0, nothing, ""));
}

#[test]
fn what_cannot_be_attested_is_an_error_with_a_hint() {
    let work = SharedWork::new();
    let machine = work.machine("first");
    for (arguments, code, stderr) in [
        (
            &["attest", "nope"][..],
            3,
            "error: there is no commit `nope` here\nhint: fetch it first, or name another one\n",
        ),
        (
            &["attest", "--base=--output=x"],
            3,
            "error: there is no commit `--output=x` here\nhint: fetch it first, or name another one\n",
        ),
    ] {
        assert_eq!(machine.shown(arguments), answer(code, "", stderr), "{arguments:?}");
    }
    let verified = "error: there is no commit `nope` here\nhint: name a commit such as `HEAD~1`, or a range such as `main..HEAD`\n";
    assert_eq!(machine.shown(&["verify", "nope"]), answer(2, "", verified));
    machine.git(&["switch", "--quiet", "--orphan", "unborn"]);
    machine.write("checkstone.toml", "presets = [\"python\"]\n");
    let nothing = "error: there is no commit here yet\nhint: commit something first\n";
    assert_eq!(machine.shown(&["attest"]), answer(3, "", nothing));
    assert_eq!(machine.shown(&["ci", "--base", "main"]), answer(3, "", nothing));
    machine.git(&["switch", "--quiet", "--force", "main"]);
    machine.branch("fix", FIXED);
    machine.prove();
    machine.git(&["remote", "remove", "origin"]);
    let no_remote = "error: not pushed: there is no remote to push to\n\
        hint: the attestation is written here; add a remote, then `checkstone attest --push`\n";
    assert_eq!(machine.shown(&["attest", "--push"]), answer(3, "", no_remote));
    machine.git(&["remote", "add", "origin", "/nowhere"]);
    let gone = "error: not pushed: fatal: '/nowhere' does not appear to be a git repository\n\
        hint: the attestation is written here; `checkstone attest --push` tries again\n";
    assert_eq!(machine.shown(&["attest", "--push"]), answer(5, "", gone));
    machine.git(&["rm", "--quiet", "checkstone.toml"]);
    assert_eq!(
        machine.shown(&["attest"]),
        answer(3, "", "error: `[folder]/first` has no policy\nhint: `checkstone init` writes one\n")
    );
}

/// Each machine keeps what the others wrote, whoever pushes last.
#[test]
fn machines_that_attest_the_same_commit_at_once_all_stay() {
    let work = SharedWork::new();
    let first = work.machine("first");
    first.branch("fix", FIXED);
    first.git(&["push", "--quiet", "--set-upstream", "origin", "fix"]);
    let names = ["a", "b", "c", "d"];
    let pushing = names.map(|name| {
        // Detached, as jobs are; and without a name for git.
        let machine = work.machine_with(name, &["--branch", "fix"]);
        machine.git(&["switch", "--quiet", "--detach"]);
        machine.prove();
        let mut command = machine.checkstone(&["attest", "--push"]);
        for role in ["AUTHOR", "COMMITTER"] {
            command.env_remove(format!("GIT_{role}_NAME")).env_remove(format!("GIT_{role}_EMAIL"));
        }
        command.env("GIT_CONFIG_COUNT", "1");
        command.env("GIT_CONFIG_KEY_0", "user.useConfigOnly").env("GIT_CONFIG_VALUE_0", "true");
        command.start_with("")
    });
    let said =
        format!("attested  [hash]\n  python-tests: 1 file\npushed as `refs/notes/checkstone`\n{RECORD}");
    for child in pushing {
        assert_eq!(redacted(finish(child).to_string()), answer(0, &said, ""));
    }
    for object in [first.id("HEAD"), first.id("HEAD^{tree}")] {
        assert_eq!(work.noted(&object).len(), names.len());
    }
}

/// Whoever comes second finds what the first wrote, or writes beside it; no note is lost or torn.
#[test]
fn two_that_attest_in_one_clone_at_once_both_succeed() {
    let work = SharedWork::new();
    let machine = work.machine("first");
    machine.branch("fix", FIXED);
    machine.prove();
    let both = [(); 4].map(|()| machine.checkstone(&["attest"]).start_with(""));
    for child in both {
        let ended = finish(child);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", ended.stdout);
    }
    for object in [machine.id("HEAD"), machine.id("HEAD^{tree}")] {
        let note = machine.git(&["notes", "--ref=checkstone", "show", &object]);
        let statements: Vec<&str> = note.lines().filter(|line| !line.is_empty()).collect();
        assert!(!statements.is_empty());
        for statement in statements {
            valid(&format!("{statement}\n"), "attestation.schema.json");
        }
    }
    assert_eq!(machine.run(&["ci", "--base", "main"]).code, Some(0));
}

#[test]
fn what_others_noted_stays() {
    let work = SharedWork::new();
    let machine = work.machine("first");
    machine.branch("fix", FIXED);
    machine.git(&["notes", "--ref=checkstone", "add", "--message=looks good to me", "HEAD"]);
    machine.prove();
    assert_eq!(machine.run(&["attest"]).code, Some(0));
    let note = machine.git(&["notes", "--ref=checkstone", "show", "HEAD"]);
    let lines: Vec<&str> = note.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!((lines.len(), lines[0]), (2, "looks good to me"));
}

/// A command is written down for others, in a note or in what a job prints: of a secret only that there was one.
#[test]
fn secrets_and_homes_stay_here() {
    let work = SharedWork::new();
    let machine = work.machine("first");
    machine.branch("fix", FIXED);
    // Put together here, so that no file of this repository has it.
    let assigned = format!("API_TOKEN=tk-{}{}", "9f8e7d6c5b4a3928", "1706f5e4d3c2b1a0");
    let command = ["prove", "--", "env", &assigned, "pytest", "-q"];
    assert_eq!(machine.run(&command).code, Some(0));
    let summary = machine.folder().join("../summary.md");
    let mut job = machine.checkstone(&["ci"]);
    job.env("GITHUB_ACTIONS", "true").env("GITHUB_BASE_REF", "main").env("GITHUB_STEP_SUMMARY", &summary);
    let printed = redacted(job.answer().to_string());
    let summary = redacted(fs_err::read_to_string(&summary).unwrap());
    let public = "env API_TOKEN=(withheld) pytest -q";
    assert_eq!([&printed, &summary].map(|text| text.matches("tk-").count()), [0, 0], "{printed}\n{summary}");
    let of_run = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.contains("pytest")).map(str::to_owned).collect()
    };
    let line = format!("  python-tests: 1 file by `{public}`, run on this machine");
    assert_eq!(of_run(&printed), [line]);
    let item = format!("<li>python-tests: 1 file by <code>{public}</code>, run on this machine</li>");
    assert_eq!(of_run(&summary), [item]);
    let proofs = machine.json(&["ci", "--base", "main", "--json"], "ci.schema.json")["proofs"].take();
    assert_eq!(proofs[0]["command"], public);
    machine.write("more.py", "def sub(a, b):\n    return a - b\n");
    machine.commit("More");
    let folder = format!("--rootdir={}", machine.folder().display());
    assert_eq!(machine.run(&["prove", "--", "pytest", &folder]).code, Some(0));
    assert_eq!(machine.run(&["attest", "--push"]).code, Some(0));
    let runs = work.noted(&machine.id("HEAD")).remove(0)["predicate"]["runs"].take();
    let commands: Vec<&str> =
        runs.as_array().unwrap().iter().map(|run| run["command"].as_str().unwrap()).collect();
    assert_eq!(commands, [public, "pytest --rootdir=the repository"]);
}
