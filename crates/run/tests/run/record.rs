//! The record of a run: what a kill or a power cut may leave of it, and what is not one.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use run::event::{Ending, FORMAT, HowEnded, What};
use run::record::{Record, RecordError, Recorder, read_events};
use run::state::{RunState, StageState};
use run::surroundings::Surroundings;
use sandbox::redacted;

fn planned(format: u32) -> What {
    What::RunPlanned {
        format,
        report_title: "t".to_owned(),
        run_id: "r".to_owned(),
        plan_file: None,
        plan: "title = \"t\"\n".to_owned(),
        set: Vec::new(),
        surroundings: Surroundings::default(),
    }
}

fn run_state(from: RunState, to: RunState) -> What {
    What::RunState { from, to, reason: None }
}

fn stage_state(from: StageState, to: StageState) -> What {
    What::StageState {
        stage_id: "S01_load_data".to_owned(),
        attempt: 1,
        from,
        to,
        reason: None,
        token: None,
        ending: None,
        accepted: None,
        refused: false,
    }
}

fn written(folder: &Path) -> PathBuf {
    let path = folder.join("events.jsonl");
    let (mut recorder, _) = Recorder::create(&path, Timestamp::UNIX_EPOCH, planned(FORMAT)).unwrap();
    recorder.append(Timestamp::UNIX_EPOCH, run_state(RunState::Planned, RunState::InProgress)).unwrap();
    recorder.append(Timestamp::UNIX_EPOCH, stage_state(StageState::Pending, StageState::Running)).unwrap();
    path
}

/// A cut at every byte: the record is what its whole lines say, and the next writer goes on from there.
#[test]
fn a_torn_end_is_as_if_it_was_never_written() {
    let folder = tempfile::tempdir().unwrap();
    let whole = std::fs::read(written(folder.path())).unwrap();
    let first_line = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let path = folder.path().join("cut.jsonl");
    for length in first_line..=whole.len() {
        // Each of them costs a flush or two.
        let tails = [&b""[..], b"\0\0\0\0", b"\0\0\n"];
        for tail in tails.into_iter().take(if length % 10 == 0 { 3 } else { 1 }) {
            std::fs::write(&path, [&whole[..length], tail].concat()).unwrap();
            let lines = whole[..length].iter().filter(|byte| **byte == b'\n').count();
            assert_eq!(Record::read(&path).unwrap().last_sequence, lines as u64, "{length} {tail:?}");
            let mut recorder = Recorder::open(&path).unwrap();
            let warning = What::Warning { stage_id: None, text: "on".to_owned() };
            recorder.append(Timestamp::UNIX_EPOCH, warning).unwrap();
            let events = read_events(&path).unwrap();
            let sequences: Vec<u64> = events.iter().map(|event| event.sequence).collect();
            assert_eq!(sequences, (1..=lines as u64 + 1).collect::<Vec<_>>());
        }
    }
    for length in 0..first_line {
        std::fs::write(&path, &whole[..length]).unwrap();
        assert!(matches!(Record::read(&path), Err(RecordError::Empty { .. })), "{length}");
    }
}

#[test]
fn damage_before_the_end_is_told_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("run-state", "run-stat\u{0}", 1)).unwrap();
    assert!(matches!(Record::read(&path), Err(RecordError::Damaged { line: 2, .. })));
    // A line that says what cannot be is damage too: this stage never ran.
    std::fs::write(&path, text.replace("\"to\":\"RUNNING\"", "\"to\":\"COMPLETED\"")).unwrap();
    let error = Record::read(&path).unwrap_err();
    insta::assert_snapshot!(redacted(error.to_string()), @"the record `[folder]/events.jsonl` is damaged in line 3: a stage that is PENDING cannot become COMPLETED");
}

#[test]
fn what_is_not_allowed_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path());
    let before = std::fs::read(&path).unwrap();
    let mut recorder = Recorder::open(&path).unwrap();
    let forbidden = stage_state(StageState::Running, StageState::Pending);
    assert!(matches!(recorder.append(Timestamp::UNIX_EPOCH, forbidden), Err(RecordError::Transition(_))));
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let allowed = stage_state(StageState::Running, StageState::Completed);
    assert_eq!(recorder.append(Timestamp::UNIX_EPOCH, allowed).unwrap().sequence, 4);
}

#[test]
fn the_record_of_a_newer_version_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    assert!(matches!(
        Recorder::create(&path, Timestamp::UNIX_EPOCH, planned(FORMAT + 1)),
        Err(RecordError::Newer { .. })
    ));
}

/// Format 1 said only in its reason that it was the `verify` that failed.
#[test]
fn a_record_of_format_1_is_read_and_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("events.jsonl");
    std::fs::write(&path, include_str!("../records/format-1.jsonl")).unwrap();
    let record = Record::read(&path).unwrap();
    assert_eq!((record.state, record.last_sequence), (RunState::Failed, 7));
    let ending = Ending {
        how: HowEnded::Exited,
        exit_code: Some(0),
        signal: None,
        elapsed_milliseconds: 12,
        output_bytes: 0,
        verify_failed: true,
        changed_meanwhile: false,
    };
    assert_eq!(record.stage("S01_load_data").ending, Some(ending));
    let mut recorder = Recorder::open(&path).unwrap();
    recorder.append(Timestamp::UNIX_EPOCH, run_state(RunState::Failed, RunState::InProgress)).unwrap();
    assert_eq!(Record::read(&path).unwrap().last_sequence, 8);
}

/// Before it had a place of its own, that something was changed meanwhile stood in the reason alone. A program that failed may end
/// with the same words.
#[test]
fn what_changed_while_it_ran_is_known_of_older_records() {
    for (exit_code, expected) in [(0, true), (1, false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("events.jsonl");
        let (mut recorder, _) = Recorder::create(&path, Timestamp::UNIX_EPOCH, planned(FORMAT)).unwrap();
        let begun = stage_state(StageState::Pending, StageState::Running);
        recorder.append(Timestamp::UNIX_EPOCH, begun).unwrap();
        let mut failed = stage_state(StageState::Running, StageState::Failed);
        if let What::StageState { reason, ending, .. } = &mut failed {
            *reason = Some("input `d.txt` was written to while it ran".to_owned());
            *ending = Some(Ending {
                how: HowEnded::Exited,
                exit_code: Some(exit_code),
                signal: None,
                elapsed_milliseconds: 12,
                output_bytes: 0,
                verify_failed: false,
                changed_meanwhile: false,
            });
        }
        recorder.append(Timestamp::UNIX_EPOCH, failed).unwrap();
        let ending = Record::read(&path).unwrap().stage("S01_load_data").ending.unwrap();
        assert_eq!(ending.changed_meanwhile, expected, "exit status {exit_code}");
    }
}
