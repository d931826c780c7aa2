//! At most one hold per turn, by our own count.

use std::time::Duration;

use crate::support::{State, minute, open_turn, see};

/// H3: a second stop of the turn is not held, in whatever process it comes.
#[test]
fn the_second_stop_of_a_turn_passes() {
    let state = State::new();
    let turn =
        state.open().write(|write| Ok(open_turn(write, see(write, "s")?, Some("prompt-1"))?.id)).unwrap();
    let stop = || state.open().write(|write| write.try_hold(turn, 1)).unwrap();
    assert_eq!([stop(), stop(), stop()], [true, false, false]);
    let session = state.open().read(|read| read.session("claude", "s")).unwrap().unwrap();
    assert_eq!(state.open().read(|read| read.turn(session.id, "prompt-1")).unwrap().unwrap().holds, 1);
}

/// H4: only our own holds count, so a turn that another tool has held is still ours to hold once; and a new
/// prompt has its own count.
#[test]
fn every_turn_has_its_own_count() {
    let state = State::new();
    let holds = state
        .open()
        .write(|write| {
            let (session, other) = (see(write, "s")?, see(write, "other")?);
            let turns = [(session, "1"), (session, "2"), (other, "1")]
                .map(|(session, key)| open_turn(write, session, Some(key)).unwrap().id);
            Ok(turns.map(|turn| [write.try_hold(turn, 1).unwrap(), write.try_hold(turn, 1).unwrap()]))
        })
        .unwrap();
    assert_eq!(holds, [[true, false]; 3]);
}

/// Spec 2's commit gate: two at most, where the owner chose that.
#[test]
fn the_limit_is_the_callers() {
    let state = State::new();
    let holds = state
        .open()
        .write(|write| {
            let turn = open_turn(write, see(write, "s")?, None)?.id;
            Ok([2, 2, 2, 1, 0].map(|limit| write.try_hold(turn, limit).unwrap()))
        })
        .unwrap();
    assert_eq!(holds, [true, true, false, false, false]);
}

/// A hold that was not committed has not happened.
#[test]
fn a_hold_that_is_rolled_back_does_not_count() {
    let state = State::new();
    let mut journal = state.open();
    let turn = journal.write(|write| Ok(open_turn(write, see(write, "s")?, None)?.id)).unwrap();
    let failed = journal.write(|write| {
        assert!(write.try_hold(turn, 1)?);
        Err::<(), _>(journal::JournalError::NotAFile { path: "anything".into() })
    });
    assert!(failed.is_err());
    assert!(journal.write(|write| write.try_hold(turn, 1)).unwrap());
}

/// H9: the same event from two registrations acts once; the same words minutes later are another event.
#[test]
fn an_event_delivered_twice_counts_once() {
    let state = State::new();
    let window = Duration::from_secs(10);
    let first = state
        .open()
        .write(|write| {
            let (session, other) = (see(write, "s")?, see(write, "other")?);
            let deliver = |session, event, at| write.first_delivery(session, event, at, window).unwrap();
            Ok([
                deliver(session, "prompt:abc", minute(0)),
                deliver(session, "prompt:abc", minute(0)),
                deliver(session, "stop:abc", minute(0)),
                deliver(other, "prompt:abc", minute(0)),
                deliver(session, "prompt:abc", minute(1)),
                deliver(session, "prompt:abc", minute(1)),
            ])
        })
        .unwrap();
    assert_eq!(first, [true, false, true, true, true, false]);
}
