//! What reduces checking: the policies of prompts, notices for the person, registrations that were seen.

use std::path::Path;

use gate::Decision;
use journal::{Author, LatestPolicy, Limits, NewNotice, Notice};

use crate::support::{State, minute, open_turn, record, see};

const DAY: i64 = 24 * 60;

fn notice<'a>(key: Option<&'a str>, client_id: Option<&'a str>, text: &'a str) -> NewNotice<'a> {
    NewNotice {
        at: minute(0),
        author: Author::Agent,
        agent: Some("claude"),
        client_id,
        repository: None,
        key,
        is_told: false,
        text,
    }
}

fn texts(notices: &[Notice]) -> Vec<&str> {
    notices.iter().map(|notice| notice.text.as_str()).collect()
}

#[test]
fn the_policy_of_the_latest_turn_is_known_and_its_texts_are_kept_once() {
    let state = State::new();
    let latest = state
        .open()
        .write(|write| {
            let session = see(write, "s")?;
            assert_eq!(write.latest_policy("claude", "s")?, None);
            for key in ["one", "two"] {
                let turn = open_turn(write, session, Some(key))?;
                write.keep_policy(turn.id, "aa", b"texts", minute(0))?;
                // What is said of a turn later is not what it began with.
                write.keep_policy(turn.id, "bb", b"others", minute(1))?;
                assert_eq!(write.policy_of_turn(turn.id)?.as_deref(), Some("aa"));
            }
            assert_eq!(write.policy_texts("aa")?.as_deref(), Some(&b"texts"[..]));
            assert_eq!((write.knows_policy("aa")?, write.knows_policy("cc")?), (true, false));
            let before = write.latest_policy("claude", "s")?.unwrap();
            assert_eq!(before, LatestPolicy { turn: before.turn, hash: "aa".to_owned(), is_judged: false });
            record(write, before.turn, Decision::Pass, b"inputs")?;
            write.latest_policy("claude", "s")
        })
        .unwrap()
        .unwrap();
    assert!(latest.is_judged);
}

/// A policy outlives the turns that began with it, and no longer.
#[test]
fn policies_and_notices_are_pruned() {
    let state = State::new();
    let mut journal = state.open();
    journal
        .write(|write| {
            let session = see(write, "s")?;
            let turn = open_turn(write, session, Some("one"))?;
            write.keep_policy(turn.id, "aa", b"texts", minute(0))?;
            write.keep_policy(turn.id, "aa", b"texts", minute(2 * DAY))?;
            write.add_notice(&notice(None, None, "old"))
        })
        .unwrap();
    for (day, kept) in [(91, true), (95, false)] {
        journal.write(|write| write.prune(minute(day * DAY), &Limits::default())).unwrap();
        assert_eq!(journal.read(|read| read.knows_policy("aa")).unwrap(), kept, "day {day}");
    }
    assert_eq!(journal.read(|read| read.recent_notices(None, minute(0), 9)).unwrap(), []);
}

#[test]
fn a_notice_is_told_once_and_to_the_right_session() {
    let state = State::new();
    let mut journal = state.open();
    let added = journal
        .write(|write| {
            write.add_notice(&notice(None, None, "everyone"))?;
            write.add_notice(&notice(None, Some("other"), "another session"))?;
            Ok([
                write.add_notice(&notice(Some("key"), Some("s"), "once"))?,
                write.add_notice(&notice(Some("key"), Some("s"), "twice"))?,
            ])
        })
        .unwrap();
    assert_eq!(added, [true, false]);
    assert!(!journal.read(|read| read.has_untold_notices("gemini", "s")).unwrap());
    assert!(journal.read(|read| read.has_untold_notices("claude", "s")).unwrap());
    let told = journal.write(|write| write.take_untold_notices("claude", "s")).unwrap();
    assert_eq!(texts(&told), ["everyone", "once"]);
    assert!(!journal.read(|read| read.has_untold_notices("claude", "s")).unwrap());
    journal.write(|write| write.withdraw_notice("key")).unwrap();
    let listed = journal.read(|read| read.recent_notices(None, minute(0), 9)).unwrap();
    assert_eq!(texts(&listed), ["another session", "everyone"]);
}

#[test]
fn a_registration_that_is_gone_is_news_once() {
    let state = State::new();
    let file = Path::new("/home/.claude/settings.json");
    let news = state
        .open()
        .write(|write| {
            write.see_registration("claude", file, "1", minute(0))?;
            let news = [
                write.miss_registration("claude", file, "2")?,
                write.miss_registration("claude", file, "3")?,
            ];
            write.see_registration("claude", file, "4", minute(1))?;
            Ok([news[0], news[1], write.miss_registration("claude", file, "5")?])
        })
        .unwrap();
    assert_eq!(news, [true, false, true]);
    let limit = std::time::Duration::from_secs(1);
    let known = journal::known_registrations(&state.directory(), limit).unwrap();
    assert_eq!(known.len(), 1);
    assert_eq!((known[0].seen_at, known[0].stamp.as_str(), known[0].is_gone), (minute(1), "5", true));
    state.sqlite().execute_batch("DROP TABLE registrations").unwrap();
    assert_eq!(journal::known_registrations(&state.directory(), limit).unwrap(), []);
}
