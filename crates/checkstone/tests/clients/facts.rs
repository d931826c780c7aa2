//! What is true in every client.

use serde_json::{Value, json};

use crate::workplace::{RUN_TESTS, Workplace};

pub(crate) fn look() -> Value {
    json!({"text": "I look first.", "calls": [{"read": "src/calc.py"}]})
}

pub(crate) fn fix() -> Value {
    json!({"text": "Here it is.", "calls": [
        {"edit": {"path": "src/calc.py", "old": "    return a - b", "new": "    return a + b"}}]})
}

pub(crate) fn run(command: &str) -> Value {
    json!({"calls": [{"run": command}]})
}

/// No model answers at once. By the time that it does, the client has written what was done before.
pub(crate) fn say(text: &str) -> Value {
    json!({"text": text, "delay_ms": 200})
}

/// `init`; a stop that is held, with the action that is missing; the action is done; the second stop passes; `uninstall`, after which
/// the settings are what they were to the byte, though the client was used in between.
pub(crate) fn from_init_to_uninstall(workplace: &Workplace) {
    let files = &agents::host(workplace.client.host()).files;
    let settings = workplace.home().join(files.in_home()).join(files.settings);
    let read = || std::fs::read_to_string(&settings).ok();
    // A client writes down at its first start which version of its settings these are.
    workplace.play_with(|_| (), json!({"steps": [say("Hello.")]}), &["Hello"]);
    let before = read();
    let steps = [look(), fix(), say("Fixed."), run("./run-tests"), say("Fixed and tested.")];
    let played = workplace.play(json!({"steps": steps}), &["Fix add"]);
    assert_ne!(read(), before);
    assert_eq!(played.holds(), [(3, RUN_TESTS.to_owned())]);
    assert_eq!(workplace.decisions(), ["hold", "pass"]);
    let held = workplace.verdict();
    assert_eq!((&held["answered"], &held["verdict"]["reason"]), (&json!("hold"), &json!("missing: tests")));
    assert_eq!(held["verdict"]["actions"][0]["state"], "required");
    let after = &workplace.verdicts()[1]["verdict"];
    assert_eq!(after["reason"], "already held this turn; no action is missing now");
    assert_eq!(after["actions"][0]["state"], "satisfied");
    assert_eq!(held["verdict"]["changed"], json!([{"category": "code", "files": ["src/calc.py"]}]));
    assert_eq!(workplace.read("src/calc.py"), "def add(a, b):\n    return a + b\n");
    workplace.json(&["uninstall", "--yes", "--json"]);
    assert_eq!(read(), before);
}

pub(crate) fn all_clear_is_not_held(workplace: &Workplace) {
    let steps = [look(), fix(), run("./run-tests"), say("Fixed and tested.")];
    let played = workplace.play(json!({"steps": steps}), &["Fix add"]);
    assert_eq!(played.holds(), []);
    assert_eq!(workplace.decisions(), ["notify"]);
    let verdict = workplace.verdict();
    let action = &verdict["verdict"]["actions"][0];
    assert_eq!(
        (&action["state"], &action["evidence"]["command"]),
        (&json!("satisfied"), &json!("./run-tests"))
    );
    assert_eq!(verdict["verdict"]["observations"], json!([]));
}

/// What was verified is not held because something weaker is red: the person is told of it.
pub(crate) fn an_ignored_failure_is_an_observation(workplace: &Workplace) {
    let steps = [look(), fix(), run("./run-tests"), run("./lint"), say("Fixed and tested.")];
    let played = workplace.play(json!({"steps": steps}), &["Fix add"]);
    assert_eq!(played.holds(), []);
    assert_eq!(told_of_lint(&workplace.verdict()), 1);
    assert_eq!(workplace.decisions(), ["notify"]);
}

/// How many unresolved errors the person is told of, all of them about `./lint`.
fn told_of_lint(verdict: &Value) -> usize {
    let observations = verdict["verdict"]["observations"].as_array().unwrap();
    for observation in observations {
        assert_eq!(observation["rule"], "unresolved-error", "{verdict:#}");
        assert!(observation["text"].as_str().unwrap().contains("./lint"), "{verdict:#}");
    }
    observations.len()
}

pub(crate) fn only_prose_is_silent(workplace: &Workplace) {
    let steps = [
        json!({"calls": [{"read": "README.md"}]}),
        json!({"calls": [{"edit": {"path": "README.md", "old": "# calc", "new": "# Calculator"}}]}),
        say("Renamed."),
    ];
    let played = workplace.play(json!({"steps": steps}), &["Call it Calculator"]);
    assert_eq!(played.holds(), []);
    assert_eq!(workplace.decisions(), ["pass"]);
    assert_eq!(workplace.verdict()["answered"], "pass");
    assert_eq!(workplace.read("README.md"), "# Calculator\n");
}

/// What is committed before the stop is out of `git status`, and still this turn's.
pub(crate) fn work_committed_in_the_turn_counts(workplace: &Workplace) {
    let steps = [
        look(),
        fix(),
        run("git commit --quiet --all --message=Fix"),
        say("Fixed and committed."),
        run("./run-tests"),
        say("Tested as well."),
    ];
    let played = workplace.play(json!({"steps": steps}), &["Fix add"]);
    assert_eq!(workplace.git(&["status", "--porcelain"]), "", "all is committed");
    assert_eq!(played.holds(), [(4, RUN_TESTS.to_owned())]);
    assert_eq!(workplace.verdict()["verdict"]["changed"][0]["files"], json!(["src/calc.py"]));
}

pub(crate) fn a_new_untracked_file_counts(workplace: &Workplace) {
    let write = json!({"calls": [{"write": {"path": "src/more.py", "content": "ONE = 1\nTWO = 2\n"}}]});
    let steps = [write, say("Added."), say("No tests for that.")];
    let played = workplace.play(json!({"steps": steps}), &["Add the constants"]);
    assert_eq!(workplace.git(&["status", "--porcelain"]), "?? src/more.py\n");
    assert_eq!(played.holds(), [(2, RUN_TESTS.replace("calc.py", "more.py"))]);
    assert_eq!(workplace.verdicts()[0]["verdict"]["changed"][0]["files"], json!(["src/more.py"]));
    // L2: it was asked for the tests, and went on without them.
    assert_eq!(workplace.decisions(), ["hold", "notify"]);
}

/// One call of an answer fails and another succeeds: each result belongs to its own call.
pub(crate) fn parallel_calls_are_told_apart(workplace: &Workplace) {
    let both_reads =
        json!({"calls": [{"read": "src/calc.py"}, {"read": "README.md"}, {"run": "git status --short"}]});
    let both_runs = json!({"calls": [{"run": "./lint"}, {"run": "./run-tests"}]});
    let steps = [both_reads, fix(), both_runs, say("Fixed.")];
    let played = workplace.play(json!({"steps": steps}), &["Fix add"]);
    let verdict = workplace.verdict();
    let action = &verdict["verdict"]["actions"][0];
    assert_eq!(
        (&action["state"], &action["evidence"]["command"]),
        (&json!("satisfied"), &json!("./run-tests"))
    );
    assert_eq!(played.holds(), []);
    assert_eq!(told_of_lint(&verdict), 1);
}

/// Each prompt opens a turn, which has a hold of its own, for its own change.
pub(crate) fn two_prompts_in_one_session_are_two_turns(workplace: &Workplace) {
    let more = json!({"calls": [{"write": {"path": "src/more.py", "content": "ONE = 1\n"}}]});
    let steps = [
        look(),
        fix(),
        say("Fixed."),
        run("./run-tests"),
        say("Tested."),
        // The second prompt.
        more,
        say("Added."),
        run("./run-tests"),
        say("Tested again."),
    ];
    let played = workplace.play(json!({"steps": steps}), &["Fix add", "Add a constant"]);
    assert_eq!(played.holds(), [(3, RUN_TESTS.to_owned()), (7, RUN_TESTS.replace("calc.py", "more.py"))]);
    assert_eq!(workplace.decisions(), ["hold", "pass", "hold", "pass"]);
    let verdicts = workplace.verdicts();
    let changed: Vec<&Value> =
        verdicts.iter().map(|verdict| &verdict["verdict"]["changed"][0]["files"]).collect();
    let (first, second) = (json!(["src/calc.py"]), json!(["src/more.py"]));
    assert_eq!(changed, [&first, &first, &second, &second]);
    assert_eq!(verdicts[0]["session"], verdicts[3]["session"]);
}

/// The agent says what it cannot do, as the hold tells it to; that holds for the session.
pub(crate) fn what_cannot_be_done_is_not_asked_for_again(workplace: &Workplace) {
    let more = json!({"calls": [{"write": {"path": "src/more.py", "content": "ONE = 1\n"}}]});
    let steps = [
        look(),
        fix(),
        say("Fixed."),
        say("There is none.\ncheckstone: cannot tests: no machine to run them on"),
        more,
        say("Added."),
    ];
    let played = workplace.play(json!({"steps": steps}), &["Fix add", "Add a constant"]);
    assert_eq!(played.holds(), [(3, RUN_TESTS.to_owned())]);
    assert_eq!(workplace.decisions(), ["hold", "notify", "notify"]);
    let verdicts = workplace.verdicts();
    let action = &verdicts[1]["verdict"]["actions"][0];
    assert_eq!(
        (&action["state"], &action["reason"]),
        (&json!("waived"), &json!("no machine to run them on"))
    );
}

/// H2: whatever breaks on our side, the agent may stop.
pub(crate) fn a_broken_journal_holds_nobody(workplace: &Workplace) {
    workplace.break_the_journal();
    let played = workplace.play(json!({"steps": [look(), fix(), say("Fixed.")]}), &["Fix add"]);
    assert_eq!(played.holds(), []);
    let log = workplace.log();
    assert!(log.contains("pass: fail open: the journal cannot be used"), "{log}");
}

/// The model reads it with its first request.
pub(crate) fn unfinished_work_is_told_when_a_session_begins(workplace: &Workplace) {
    unfinished_work_is_told_in_every_request(workplace, &["Hello"]);
}

/// The model has it once, also when the session is resumed.
pub(crate) fn unfinished_work_is_told_once_in_a_session(workplace: &Workplace) {
    unfinished_work_is_told_in_every_request(workplace, &["Hello", "Hello again"]);
}

fn unfinished_work_is_told_in_every_request(workplace: &Workplace, prompts: &[&str]) {
    let words = ["workflow", "phase", "implement", "implementation", "--json"];
    let done = ["--feature", "sums", "--status", "complete", "--summary", "Adds two numbers"];
    workplace.json(&[&words[..], &done].concat());
    let steps: Vec<Value> = prompts.iter().map(|prompt| say(prompt)).collect();
    let played = workplace.play(json!({"steps": steps}), prompts);
    for request in &played.requests {
        let body = request.body.to_string();
        let told = body
            .matches("Workflow `implement` for the feature `sums`: phase `validation` comes next")
            .count();
        assert_eq!(told, 1, "step {:?}: {:#?}", request.step, request.user_texts());
        assert!(body.contains("Adds two numbers"));
    }
    assert_eq!(workplace.decisions(), vec!["pass"; prompts.len()]);
}
