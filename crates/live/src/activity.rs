//! What a session is doing, by the journal and its transcript.

use gate::{Decision, Waiting};
use jiff::{SignedDuration, Timestamp};

use crate::seen_transcript::SeenTranscript;

/// An agent that works writes into its transcript more often than this, unless a command runs.
const LOST_AFTER: SignedDuration = SignedDuration::from_mins(30);

/// With a command that runs, so much more often.
const LOST_WITH_COMMAND: SignedDuration = SignedDuration::from_hours(3);

/// In the order in which they need a person.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Activity {
    Waiting,
    Lost,
    Held,
    Working,
    Done,
}

impl Activity {
    pub(crate) const ALL: [Self; 5] = [Self::Waiting, Self::Lost, Self::Held, Self::Working, Self::Done];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Waiting => "waiting for you",
            Self::Lost => "lost",
            Self::Held => "held",
            Self::Working => "working",
            Self::Done => "done",
        }
    }

    pub(crate) fn class(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Lost => "lost",
            Self::Held => "held",
            Self::Working => "working",
            Self::Done => "done",
        }
    }

    pub(crate) fn needs_person(self) -> bool {
        matches!(self, Self::Waiting | Self::Lost)
    }
}

/// The last stop of a session.
#[derive(Clone, Debug)]
pub(crate) struct LastStop {
    pub(crate) decision: Decision,
    /// Why, in a few words.
    pub(crate) reason: String,
    /// The turn that it ended is the last one.
    pub(crate) is_of_last_turn: bool,
}

/// What the session does, and more about it in a sentence.
pub(crate) fn activity(
    has_turn: bool,
    stop: Option<&LastStop>,
    seen: Option<&SeenTranscript>,
    last_sign: Timestamp,
    now: Timestamp,
) -> (Activity, String) {
    if !has_turn {
        return (Activity::Done, "nothing was asked yet".to_owned());
    }
    let stop = stop.filter(|stop| stop.is_of_last_turn);
    if let Some(stop) = stop.filter(|stop| stop.decision != Decision::Hold) {
        return match waiting_of(&stop.reason) {
            Some(Waiting::BackgroundTasks | Waiting::Subagents) => (Activity::Working, stop.reason.clone()),
            Some(_) => (Activity::Waiting, stop.reason.clone()),
            None => (Activity::Done, stop.reason.clone()),
        };
    }
    let waiting = seen.and_then(|seen| seen.waiting);
    if let Some(waiting) =
        waiting.filter(|waiting| !matches!(waiting, Waiting::BackgroundTasks | Waiting::Subagents))
    {
        return (Activity::Waiting, waiting.in_words().to_owned());
    }
    let running = seen.and_then(|seen| seen.running.as_deref());
    let limit = if running.is_some() { LOST_WITH_COMMAND } else { LOST_AFTER };
    let silent = now.duration_since(last_sign);
    if silent > limit {
        let minutes = text::duration_in_words(std::time::Duration::from_secs(
            silent.as_secs().unsigned_abs() / 60 * 60,
        ));
        return (Activity::Lost, format!("no activity for {minutes}, and the turn has not ended"));
    }
    match (stop, running.or_else(|| seen?.last.as_deref())) {
        (Some(stop), _) => (Activity::Held, stop.reason.clone()),
        (None, Some(deed)) => (Activity::Working, deed.to_owned()),
        (None, None) => (Activity::Working, String::new()),
    }
}

/// What an agent waits for by the reason of a verdict.
fn waiting_of(reason: &str) -> Option<Waiting> {
    Waiting::ALL.into_iter().find(|waiting| waiting.in_words() == reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(decision: Decision, reason: &str) -> Option<LastStop> {
        Some(LastStop { decision, reason: reason.to_owned(), is_of_last_turn: true })
    }

    #[test]
    fn what_a_session_does_follows_from_its_last_stop_and_its_transcript() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let ago = |minutes| now - SignedDuration::from_mins(minutes);
        let asks = SeenTranscript { waiting: Some(Waiting::AnswerOfUser), ..SeenTranscript::default() };
        let runs = SeenTranscript { running: Some("cargo test".to_owned()), ..SeenTranscript::default() };
        let none = SeenTranscript::default();
        let earlier = Some(LastStop { is_of_last_turn: false, ..stop(Decision::Pass, "").unwrap() });
        let answer = Waiting::AnswerOfUser.in_words();
        for (last, seen, minutes, expected) in [
            (None, &none, 0, Activity::Working),
            (earlier.clone(), &none, 0, Activity::Working),
            (earlier.clone(), &none, 31, Activity::Lost),
            (earlier.clone(), &runs, 31, Activity::Working),
            (earlier.clone(), &runs, 200, Activity::Lost),
            (earlier, &asks, 31, Activity::Waiting),
            (stop(Decision::Hold, "missing: tests"), &none, 1, Activity::Held),
            (stop(Decision::Hold, "missing: tests"), &none, 31, Activity::Lost),
            (stop(Decision::Pass, "nothing changed"), &none, 300, Activity::Done),
            (stop(Decision::Notify, "all clear"), &asks, 0, Activity::Done),
            (stop(Decision::Pass, answer), &none, 300, Activity::Waiting),
            (stop(Decision::Pass, Waiting::Subagents.in_words()), &none, 0, Activity::Working),
        ] {
            let found = activity(true, last.as_ref(), Some(seen), ago(minutes), now);
            assert_eq!(found.0, expected, "{last:?} {seen:?} {minutes}");
        }
        assert_eq!(activity(false, None, None, now, now).0, Activity::Done);
    }
}
