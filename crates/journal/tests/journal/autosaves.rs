//! Autosaves: the crossing of a threshold, the record, what is told of a push, and the counts.

use std::path::Path;
use std::sync::Barrier;

use journal::{AutosaveCounts, AutosaveOutcome, NewAutosave, PushState};

use crate::support::{State, autosave, minute, open_turn, see};

fn crossings(percents: &[u64]) -> Vec<bool> {
    let state = State::new();
    let mut journal = state.open();
    journal
        .write(|write| {
            let session = see(write, "s")?;
            let crosses = |percent: &u64| Ok(write.crosses(session, *percent, 40, 35)?.is_some());
            percents.iter().map(crosses).collect()
        })
        .unwrap()
}

/// A1, A2: 39 % is below, 40 % is the crossing, and above it nothing more happens until the context was emptied.
#[test]
fn a2_a_threshold_is_crossed_once_and_again_only_after_it_was_well_below() {
    assert_eq!(crossings(&[39, 40, 41, 80]), [false, true, false, false]);
    assert_eq!(crossings(&[40, 39, 40, 36, 41]), [true, false, false, false, false]);
    assert_eq!(crossings(&[90, 34, 39, 40]), [true, false, false, true]);
}

#[test]
fn sessions_cross_for_themselves() {
    let state = State::new();
    let crossed = state
        .open()
        .write(|write| {
            let (one, other) = (see(write, "one")?, see(write, "other")?);
            Ok([write.crosses(one, 50, 40, 35)?, write.crosses(other, 50, 40, 35)?])
        })
        .unwrap();
    assert_eq!(crossed, [Some(1), Some(1)]);
}

/// What failed over something that passes is due again at the next stop above the threshold, as the next try of the same
/// crossing; one who was not told to try again is not asked again.
#[test]
fn a_crossing_can_be_tried_again() {
    let state = State::new();
    let mut journal = state.open();
    let session = journal.write(|write| see(write, "s")).unwrap();
    let mut at = |percent| journal.write(|write| write.crosses(session, percent, 40, 35)).unwrap();
    assert_eq!((at(41), at(42)), (Some(1), None));
    state.open().write(|write| write.try_again(session)).unwrap();
    assert_eq!((at(38), at(43), at(44)), (None, Some(2), None), "once, and not below the threshold");
    state.open().write(|write| write.try_again(session)).unwrap();
    assert_eq!((at(20), at(45), at(46)), (None, Some(1), None), "emptied, and crossed anew");
}

/// Where there was nothing to save, the crossing is still there for the first stop that has something.
#[test]
fn a_crossing_with_nothing_to_save_is_not_used_up() {
    let state = State::new();
    let mut journal = state.open();
    let session = journal.write(|write| see(write, "s")).unwrap();
    let at = |percent| state.open().write(|write| write.crosses(session, percent, 40, 35)).unwrap();
    let is_again = || state.open().write(|write| write.is_tried_again(session)).unwrap();
    assert_eq!((is_again(), at(45)), (false, Some(1)));
    journal.write(|write| write.take_back_try(session)).unwrap();
    assert_eq!((is_again(), at(39), at(50), at(55)), (true, None, Some(1), None));
    journal.write(|write| write.take_back_try(session)).unwrap();
    assert_eq!((at(20), is_again(), at(45)), (None, false, Some(1)), "emptied, and crossed anew");
}

/// The value that earlier versions wrote.
#[test]
fn a_session_that_was_above_before_an_update_is_above() {
    let state = State::new();
    let mut journal = state.open();
    let crossed = journal.write(|write| {
        let session = see(write, "s")?;
        write.set_value(session, "autosave-above", b"1")?;
        Ok([
            write.crosses(session, 50, 40, 35)?,
            write.crosses(session, 30, 40, 35)?,
            write.crosses(session, 50, 40, 35)?,
        ])
    });
    assert_eq!(crossed.unwrap(), [None, None, Some(1)]);
}

/// H9, A11: of many who ask at once exactly one saves.
#[test]
fn a11_of_many_who_see_a_crossing_one_acts() {
    let state = State::new();
    state.open().write(|write| see(write, "s")).unwrap();
    let barrier = Barrier::new(8);
    let crossed: usize = std::thread::scope(|scope| {
        let asked: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let mut journal = state.open();
                    barrier.wait();
                    journal.write(|write| write.crosses(see(write, "s")?, 44, 40, 35)).unwrap().is_some()
                })
            })
            .collect();
        asked.into_iter().map(|one| usize::from(one.join().unwrap())).sum()
    });
    assert_eq!(crossed, 1);
}

#[test]
fn what_was_recorded_comes_back_and_stays_when_its_turn_goes() {
    let state = State::new();
    let mut journal = state.open();
    let id = journal
        .write(|write| {
            let session = see(write, "s")?;
            let turn = open_turn(write, session, Some("k"))?;
            let new = NewAutosave { turn: Some(turn.id), ..autosave(Some(session)) };
            write.record_autosave(&new)
        })
        .unwrap();
    state.sqlite().execute_batch("PRAGMA foreign_keys = ON; DELETE FROM turns").unwrap();
    let found = journal.read(|read| read.autosave(id)).unwrap().unwrap();
    assert_eq!((found.turn, found.at, found.percent), (None, minute(2), Some(41)));
    assert_eq!((found.outcome, found.push), (AutosaveOutcome::Saved, PushState::Started));
    assert_eq!(found.repository, Path::new("/project"));
    assert_eq!(found.commit.as_deref(), autosave(None).commit);
    let listed = journal.read(|read| read.recent_autosaves(Some(Path::new("/elsewhere")), 9)).unwrap();
    assert_eq!(listed, []);
}

/// A push that runs is nothing to tell; one that ended is told once.
#[test]
fn the_end_of_a_push_is_told_once() {
    let state = State::new();
    let mut journal = state.open();
    let told = |journal: &mut journal::Journal| {
        let pushes = journal.write(|write| write.take_untold_pushes(see(write, "s")?)).unwrap();
        pushes.into_iter().map(|one| (one.push, one.push_detail)).collect::<Vec<_>>()
    };
    let id = journal.write(|write| write.record_autosave(&autosave(Some(see(write, "s")?)))).unwrap();
    assert_eq!(told(&mut journal), []);
    journal.write(|write| write.record_push(id, PushState::Failed, "the remote is gone", 900)).unwrap();
    assert_eq!(told(&mut journal), [(PushState::Failed, "the remote is gone".to_owned())]);
    assert_eq!(told(&mut journal), []);
}

#[test]
fn the_counts_say_how_often_how_well_and_how_fast() {
    let state = State::new();
    let mut journal = state.open();
    let none = journal.read(|read| read.autosave_counts(None)).unwrap();
    assert_eq!(none, AutosaveCounts::default());
    journal
        .write(|write| {
            let session = Some(see(write, "s")?);
            let one = write.record_autosave(&autosave(session))?;
            write.record_push(one, PushState::Pushed, "", 300)?;
            let two = NewAutosave { milliseconds: 240, ..autosave(session) };
            let two = write.record_autosave(&two)?;
            write.record_push(two, PushState::Failed, "rejected", 300)?;
            for outcome in [AutosaveOutcome::Failed, AutosaveOutcome::Nothing, AutosaveOutcome::Advised] {
                let push = PushState::None;
                write.record_autosave(&NewAutosave {
                    outcome,
                    push,
                    milliseconds: 9000,
                    ..autosave(session)
                })?;
            }
            Ok(())
        })
        .unwrap();
    let counts = journal.read(|read| read.autosave_counts(Some(Path::new("/project")))).unwrap();
    let expected = AutosaveCounts {
        all: 4,
        saved: 2,
        failed: 1,
        pushed: 1,
        pushes_failed: 1,
        mean_milliseconds: Some(180),
        longest_milliseconds: Some(240),
    };
    assert_eq!(counts, expected);
    let session = journal.read(|read| read.session("claude", "s")).unwrap().unwrap();
    assert_eq!(journal.read(|read| read.iterations(session.id)).unwrap(), 2);
}
