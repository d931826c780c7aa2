//! Turns for the tables: calls in order, ten seconds apart and five seconds long, in a repository at `/repo`.

use change_set::{Change, ChangeSet, ChangedFile, How, Scope};
use gate::policy::{Policy, Source};
use gate::{Changes, Decision, History, Inputs, LedgerExtract, RecordedCall, Stop, Verdict, judge};
use jiff::{SignedDuration, Timestamp};
use transcript::{Call, Coverage, Extent, Kind, Outcome, SessionState};

pub(crate) const PYTEST_PASSED: &str = "===== 12 passed in 0.31s =====";
pub(crate) const PYTEST_FAILED: &str = "===== 1 failed, 11 passed in 0.31s =====";

pub(crate) fn policy(text: &str) -> Policy {
    Policy::load(&[Source { name: "checkstone.toml", text }]).unwrap_or_else(|problems| panic!("{problems}"))
}

/// When the call of this place begins.
pub(crate) fn began(place: usize) -> Timestamp {
    let start: Timestamp = "2026-11-15T10:00:00Z".parse().unwrap();
    start + SignedDuration::from_secs(10 * place as i64)
}

fn call(tool: &str, kind: Kind, paths: &[&str]) -> Call {
    let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
    Call {
        tool: tool.to_owned(),
        kind,
        path: paths.first().cloned(),
        paths,
        outcome: Outcome::Ok,
        ..Call::default()
    }
}

/// A shell command that went well.
pub(crate) fn ran(command: &str) -> Call {
    Call { command: Some(command.to_owned()), exit_code: Some(0), ..call("Bash", Kind::Shell, &[]) }
}

/// A shell command that went well and printed this.
pub(crate) fn printed(command: &str, output: &str) -> Call {
    Call { snippet: Some(output.to_owned()), ..ran(command) }
}

/// A shell command that failed.
pub(crate) fn failed(command: &str, exit_code: i32, output: &str) -> Call {
    Call { outcome: Outcome::Error, exit_code: Some(exit_code), ..printed(command, output) }
}

pub(crate) fn unfinished(command: &str) -> Call {
    Call { outcome: Outcome::Unknown, exit_code: None, ..ran(command) }
}

pub(crate) fn read(path: &str) -> Call {
    call("Read", Kind::Read, &[path])
}

pub(crate) fn edit(path: &str) -> Call {
    call("Edit", Kind::Edit, &[path])
}

pub(crate) fn write(path: &str) -> Call {
    Call { created: vec![path.to_owned()], ..call("Write", Kind::Write, &[path]) }
}

pub(crate) fn edit_failed(path: &str) -> Call {
    let snippet = Some("<tool_use_error>String to replace not found in file.".to_owned());
    Call { outcome: Outcome::Error, snippet, ..edit(path) }
}

pub(crate) fn by_subagent(call: Call) -> Call {
    Call { subagent: Some("agent-1".to_owned()), ..call }
}

pub(crate) fn stopped_by_user(call: Call) -> Call {
    Call { user_stopped: true, outcome: Outcome::Error, ..call }
}

pub(crate) fn changed(path: &str) -> ChangedFile {
    ChangedFile { path: path.into(), change: Change::Modified, how: vec![How::Unstaged], modified_ns: None }
}

/// Written so many seconds after the call of this place began.
pub(crate) fn written(path: &str, place: usize, seconds: i64) -> ChangedFile {
    let at = began(place) + SignedDuration::from_secs(seconds);
    ChangedFile { modified_ns: Some(at.as_nanosecond() as i64), ..changed(path) }
}

/// The inputs of a stop: these calls, these changed files since the prompt.
pub(crate) fn inputs(calls: Vec<Call>, files: &[&str]) -> Inputs {
    with_files(calls, files.iter().map(|path| changed(path)).collect())
}

pub(crate) fn with_files(calls: Vec<Call>, files: Vec<ChangedFile>) -> Inputs {
    let records = calls.len() as u64;
    let calls = calls.into_iter().enumerate().map(|(place, call)| {
        let ended = began(place) + SignedDuration::from_secs(5);
        let call = Call {
            id: format!("call-{place}"),
            at: call.at.or(Some(began(place))),
            ended_at: call.ended_at.or(Some(ended)),
            line: Some(place as u64 + 1),
            ..call
        };
        RecordedCall::new(call, "/repo")
    });
    Inputs {
        changes: Changes::Known(ChangeSet {
            scope: Scope::TurnBaseline,
            files,
            arrived: Vec::new(),
            head: Some("1f7a7a472abf3dd9643fd615f6da379c4acb3e3a".to_owned()),
            branch: Some("main".to_owned()),
            root: "/repo".into(),
            baseline_unusable: None,
        }),
        coverage: Coverage { extent: Extent::Complete, records, understood: records, reason: None },
        calls: calls.collect(),
        earlier_calls: 0,
        said: Vec::new(),
        cwd: "/repo".to_owned(),
        folder: None,
        session: SessionState::default(),
        repository: None,
        script_endings: std::collections::BTreeMap::new(),
        without_need: Vec::new(),
        present: std::collections::BTreeMap::new(),
        stop: Stop { elapsed_ms: Some(60_000), ..Stop::default() },
        history: History::default(),
        ledger: LedgerExtract::default(),
        plan: None,
        checks: Vec::new(),
    }
}

pub(crate) fn with_scope(mut inputs: Inputs, scope: Scope) -> Inputs {
    if let Changes::Known(set) = &mut inputs.changes {
        set.scope = scope;
    }
    inputs
}

/// The verdict in one line: the decision, the required actions, the rules that observed something.
pub(crate) fn brief(verdict: &Verdict) -> String {
    let decision = match verdict.decision {
        Decision::Pass => "pass",
        Decision::Notify => "notify",
        Decision::Hold => "hold",
    };
    let mut line = decision.to_owned();
    for id in required(verdict) {
        line.push_str(&format!(" {id}"));
    }
    for observation in &verdict.observations {
        let rule = serde_json::to_value(observation.rule).unwrap();
        line.push_str(&format!(" +{}", rule.as_str().unwrap()));
    }
    line
}

pub(crate) fn required(verdict: &Verdict) -> Vec<&str> {
    let is_required = |action: &&gate::ActionVerdict| action.state == gate::ActionState::Required;
    verdict.actions.iter().filter(is_required).map(|action| action.id.as_str()).collect()
}

/// The actions that somebody is asked for. A stop after the hold passes: what it lists as missing is for the record.
pub(crate) fn asked<'a>(inputs: &Inputs, verdict: &'a Verdict) -> Vec<&'a str> {
    let after_the_hold = inputs.history.holds_this_turn > 0 && verdict.decision != Decision::Hold;
    if after_the_hold { Vec::new() } else { required(verdict) }
}

/// Judges each row and compares what was said in brief.
pub(crate) fn table(policy: &Policy, files: &[&str], rows: Vec<(Vec<Call>, &str)>) {
    for (calls, expected) in rows {
        let shown: Vec<_> =
            calls.iter().map(|call| call.command.clone().unwrap_or(call.tool.clone())).collect();
        let verdict = judge(policy, &inputs(calls, files));
        assert_eq!(brief(&verdict), expected, "{shown:?}: {:?}", verdict.message);
    }
}

/// The sentences of one rule.
pub(crate) fn sentences(verdict: &Verdict) -> Vec<&str> {
    verdict.observations.iter().map(|observation| observation.text.as_str()).collect()
}
