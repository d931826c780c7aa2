//! What was proven before needs no second proof, and what stays unproven is told to the person (L2, L3, L14).

use gate::policy::Policy;
use gate::{ContentProof, LedgerExtract, ProvenFile, Strength, UnprovenFile, Verdict, judge, needs};

use contents::Nature;
use transcript::{Call, FileEdit};

use crate::real_sessions::{in_repository, repository};
use crate::turns::*;

const PYTHON: &str = r#"presets = ["python"]"#;

fn proven(path: &str) -> ProvenFile {
    ProvenFile {
        path: path.to_owned(),
        action: "python-tests".to_owned(),
        command: "pytest -q".to_owned(),
        weak: None,
    }
}

fn unproven(path: &str, committed: bool) -> UnprovenFile {
    UnprovenFile { path: path.to_owned(), action: "python-tests".to_owned(), modified_ns: None, committed }
}

/// Each file with how it stands: `+` proven, `-` unproven, `=` as before, `!` taken back.
fn standings(verdict: &Verdict) -> Vec<String> {
    let mark = |proof: &ContentProof| match proof {
        ContentProof::Proven(_) => '+',
        ContentProof::Unproven => '-',
        ContentProof::AsBefore => '=',
        ContentProof::TakenBack => '!',
    };
    let mut standings: Vec<String> =
        verdict.standings.iter().map(|one| format!("{}{}", mark(&one.proof), one.path)).collect();
    standings.sort();
    standings
}

#[test]
fn l14_the_same_content_as_when_it_was_proven_is_proven() {
    let python = policy(PYTHON);
    let mut turn = inputs(vec![write("a.py"), write("b.py")], &["a.py", "b.py"]);
    assert_eq!(brief(&judge(&python, &turn)), "hold python-tests");
    turn.ledger.proven = vec![proven("a.py")];
    let verdict = judge(&python, &turn);
    assert_eq!(
        (brief(&verdict).as_str(), standings(&verdict)),
        ("hold python-tests", vec!["-b.py".to_owned()])
    );
    turn.ledger.proven.push(proven("b.py"));
    let verdict = judge(&python, &turn);
    assert_eq!((verdict.reason.as_str(), standings(&verdict).len()), ("all clear", 0));
    let evidence = verdict.actions[0].evidence.as_ref().unwrap();
    assert_eq!((evidence.command.as_str(), evidence.line), ("pytest -q", None));
}

/// Having run the code stays having run it, in later turns too, until more is done.
#[test]
fn content_that_was_only_run_is_not_proven_as_if_it_had_been_tested() {
    let python = policy(PYTHON);
    let words = || repository(&[("pyproject.toml", "[project]"), ("tests/test_a.py", "")]);
    let turn = |calls: Vec<Call>| in_repository(words(), [vec![write("a.py")], calls].concat(), &["a.py"]);
    let weak = |verdict: &Verdict| verdict.standings.iter().map(|one| one.weak).collect::<Vec<_>>();
    let only_run = judge(&python, &turn(vec![ran("python a.py")]));
    assert_eq!(
        (brief(&only_run).as_str(), weak(&only_run)),
        ("notify +weaker-verification", vec![Some(Strength::Ran)])
    );
    assert_eq!(weak(&judge(&python, &turn(vec![printed("pytest", PYTEST_PASSED)]))), [None]);
    // The same content in a later turn.
    let earlier = ProvenFile { weak: Some(Strength::Ran), ..proven("a.py") };
    for (calls, expected, standing) in [
        (vec![], "notify +weaker-verification", vec![]),
        (vec![ran("python a.py")], "notify +weaker-verification", vec![]),
        (vec![ran("ruff check .")], "notify +weaker-verification", vec![Some(Strength::Linted)]),
        (vec![printed("pytest", PYTEST_PASSED)], "notify", vec![None]),
    ] {
        let mut later = turn(calls);
        later.ledger.proven = vec![earlier.clone()];
        let verdict = judge(&python, &later);
        assert_eq!((brief(&verdict).as_str(), weak(&verdict)), (expected, standing));
    }
    let mut later = turn(vec![]);
    later.ledger.proven = vec![earlier];
    assert_eq!(
        told(&python, &later),
        "notify: [checkstone] The changes were only run — `pytest` would verify more"
    );
    // More than it had does not ask for more than it had.
    let after = policy(&format!("{PYTHON}\n[action.python-tests]\nafter = \"setup\"\n{SETUP}"));
    let mut later = turn(vec![printed("pytest", PYTEST_PASSED)]);
    later.ledger.proven = vec![ProvenFile { weak: Some(Strength::Ran), ..proven("a.py") }];
    assert_eq!(brief(&judge(&after, &later)), "notify +weaker-verification");
    later.calls = turn(vec![ran("make setup"), printed("pytest", PYTEST_PASSED)]).calls;
    let verdict = judge(&after, &later);
    assert_eq!((brief(&verdict).as_str(), weak(&verdict)), ("notify", vec![None]));
    // Older versions recorded no such thing.
    let old = r#"{"path": "a.py", "action": "python-tests", "command": "pytest -q"}"#;
    assert_eq!(serde_json::from_str::<ProvenFile>(old).unwrap(), proven("a.py"));
}

const SETUP: &str = "[action.setup]\nsay = \"Run `make setup`\"\nevidence = [\"make setup\"]";

#[test]
fn what_a_run_covers_is_proven_and_what_fails_takes_proof_back() {
    let python = policy(PYTHON);
    let green = inputs(vec![write("a.py"), printed("pytest", PYTEST_PASSED)], &["a.py", "README.md"]);
    assert_eq!(standings(&judge(&python, &green)), ["+a.py"]);
    let stale = inputs(vec![printed("pytest", PYTEST_PASSED), write("a.py")], &["a.py"]);
    assert_eq!(standings(&judge(&python, &stale)), ["-a.py"]);
    let mut red = inputs(vec![write("a.py"), failed("pytest", 1, PYTEST_FAILED)], &["a.py", "b.py"]);
    red.ledger.proven = vec![proven("b.py")];
    assert_eq!(standings(&judge(&python, &red)), ["!a.py", "!b.py"]);
}

/// A comment takes nothing from what was proven, and proves nothing.
#[test]
fn a_comment_stands_as_the_code_below_it() {
    let python = policy(PYTHON);
    let comment = |path: &str| {
        let edits = vec![FileEdit {
            path: path.to_owned(),
            nature: Nature::Comments.into(),
            before: None,
            after: None,
            whole: false,
            ending: None,
        }];
        Call { edits, ..write(path) }
    };
    let quiet = inputs(vec![comment("a.py")], &["a.py"]);
    let verdict = judge(&python, &quiet);
    assert_eq!((brief(&verdict).as_str(), standings(&verdict)), ("pass", vec!["=a.py".to_owned()]));
    let tested = inputs(vec![comment("a.py"), printed("pytest", PYTEST_PASSED)], &["a.py"]);
    assert_eq!(standings(&judge(&python, &tested)), ["+a.py"]);
}

/// The letter of spec 1 is this turn alone.
#[test]
fn a_policy_of_this_turn_only_records_and_changes_no_verdict() {
    let python = policy(&format!("{PYTHON}\n[gate]\nturn_only = true"));
    let mut turn = inputs(vec![write("a.py")], &["a.py"]);
    turn.ledger =
        LedgerExtract { proven: vec![proven("a.py")], unproven: vec![unproven("b.py", true)], told: None };
    let verdict = judge(&python, &turn);
    assert_eq!(brief(&verdict), "hold python-tests");
    assert_eq!(standings(&verdict), ["-a.py", "-b.py"]);
    turn.history.holds_this_turn = 1;
    assert_eq!(brief(&judge(&python, &turn)), "pass python-tests");
}

fn told(policy: &Policy, turn: &gate::Inputs) -> String {
    let verdict = judge(policy, turn);
    format!("{}: {}", verdict.decision.name(), verdict.message.unwrap_or(verdict.reason.to_string()))
}

#[test]
fn l2_a_hold_that_was_ignored_is_told_to_the_person_once() {
    let python = policy(PYTHON);
    let files = ["a.py", "b.py", "c.py", "d.py", "e.py"];
    let mut turn = inputs(vec![write("a.py")], &files);
    turn.history.holds_this_turn = 1;
    // Another stop at the same time passes: the agent has not heard of the hold yet.
    assert_eq!(told(&python, &turn), "pass: already held this turn; still missing: python-tests");
    turn.history.hold_received = true;
    let said = "Unproven: `a.py`, `b.py`, `c.py` and 2 more need `python-tests`. The agent was asked for this and did \
                not do it.";
    assert_eq!(told(&python, &turn), format!("notify: [checkstone] {said}"));
    turn.ledger.told = Some(said.to_owned());
    assert_eq!(told(&python, &turn), "pass: already held this turn; still missing: python-tests");
    // What the agent cannot do was told in its own words.
    turn.ledger.told = None;
    turn.said = vec!["checkstone: cannot python-tests: no python here".to_owned()];
    assert_eq!(told(&python, &turn), "pass: already held this turn; no action is missing now");
}

#[test]
fn l2_unproven_work_of_earlier_turns_is_told_once_a_turn_and_never_called_clear() {
    let python = policy(PYTHON);
    let mut turn = inputs(vec![ran("ls")], &[]);
    turn.ledger.unproven = vec![unproven("a.py", false)];
    let said = "Still unproven: `a.py` needs `python-tests`.";
    assert_eq!(told(&python, &turn), format!("notify: [checkstone] {said}"));
    turn.ledger.told = Some(said.to_owned());
    assert_eq!(told(&python, &turn), "pass: nothing changed");
    // A turn whose own work is verified elsewhere is not all clear.
    let mut other =
        inputs(vec![printed("pytest", PYTEST_PASSED), write("b.py"), ran("pytest tests/b")], &["b.py"]);
    other.ledger.unproven =
        vec![UnprovenFile { action: "no such action".to_owned(), ..unproven("a.py", false) }];
    assert_eq!(judge(&python, &other).reason.as_str(), "all clear");
    // A run of any turn proves what lies there, and then there is nothing to tell.
    let mut proves = turn.clone();
    proves.ledger.told = None;
    proves.calls = inputs(vec![printed("pytest", PYTEST_PASSED)], &[]).calls;
    let verdict = judge(&python, &proves);
    assert_eq!((verdict.reason.as_str(), standings(&verdict)), ("nothing changed", vec!["+a.py".to_owned()]));
    proves.calls = inputs(vec![failed("pytest", 1, PYTEST_FAILED)], &[]).calls;
    assert_eq!(standings(&judge(&python, &proves)), ["-a.py"]);
}

#[test]
fn l3_a_commit_of_unproven_work_is_told_or_held_once() {
    let mut turn = inputs(vec![ran("git commit -am work")], &[]);
    turn.ledger.unproven = vec![unproven("a.py", true), unproven("b.py", false)];
    turn.ledger.told = Some("Still unproven: `a.py` and `b.py` need `python-tests`.".to_owned());
    let said = "[checkstone] This turn committed unproven work: `a.py` needs `python-tests`.";
    assert_eq!(told(&policy(PYTHON), &turn), format!("notify: {said}"));
    let hold = policy(&format!("{PYTHON}\n[gate]\nunproven_commit = \"hold\""));
    assert_eq!(told(&hold, &turn), format!("hold: {said} Run `pytest`."));
    turn.history.holds_this_turn = 1;
    assert_eq!(told(&hold, &turn), format!("notify: {said}"));
}

/// A restart acts on something else than the files: the same content needs it again.
#[test]
fn only_what_verifies_content_is_proven_by_an_earlier_run() {
    let own = policy(
        "[[category]]\nname = \"service\"\ninclude = [\"service/**\"]\nrequire = [\"restart\", \"tests\", \"shell\"]\n
         [action.restart]\nsay = \"Run `make restart`\"\nevidence = [\"make restart\"]\n
         [action.tests]\nsay = \"Run `make test`\"\nevidence = [\"make test\"]\n
         [action.shell]\nsay = \"Run `shellcheck`\"\nevidence = [\"shellcheck\"]\nlevel = \"notify\"",
    );
    let ids: Vec<&str> = needs(&own, "service/a.py").iter().map(|action| action.id.as_str()).collect();
    assert_eq!(ids, ["restart", "tests"]);
    assert_eq!(needs(&own, "README.md").len(), 0);
    let mut turn = inputs(vec![edit("service/a.py")], &["service/a.py"]);
    let earlier = |action: &str| ProvenFile {
        path: "service/a.py".to_owned(),
        action: action.to_owned(),
        command: "make".to_owned(),
        weak: None,
    };
    turn.ledger.proven = vec![earlier("restart"), earlier("tests")];
    let verdict = judge(&own, &turn);
    assert_eq!(
        (verdict.reason.as_str(), standings(&verdict)),
        ("missing: restart", vec!["!service/a.py".to_owned()])
    );
}

/// A script of one's own is in the ledger, whatever it is called.
#[test]
fn l2_evidence_that_is_a_bare_script_is_in_the_ledger() {
    for script in ["./ci.sh", "./go.sh"] {
        let own = policy(&format!(
            "[[category]]\nname = \"code\"\ninclude = [\"*.py\"]\nrequire = [\"ci\"]\n
             [action.ci]\nsay = \"Run `{script}`\"\nevidence = [\"{script}\"]"
        ));
        let mut turn = inputs(vec![edit("a.py")], &["a.py"]);
        assert_eq!(judge(&own, &turn).reason.as_str(), "missing: ci");
        (turn.history.holds_this_turn, turn.history.hold_received) = (1, true);
        let said = "Unproven: `a.py` needs `ci`. The agent was asked for this and did not do it.";
        assert_eq!(told(&own, &turn), format!("notify: [checkstone] {said}"));
        turn.calls = inputs(vec![edit("a.py"), ran(script)], &["a.py"]).calls;
        assert_eq!(standings(&judge(&own, &turn)), ["+a.py"]);
    }
}
