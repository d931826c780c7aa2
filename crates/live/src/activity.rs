//! What a session is doing, by the journal and its transcript.

use gate::{Decision, Reason, Waiting};
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
    pub(crate) reason: Reason,
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
        let activity = match stop.reason {
            Reason::Waiting(Waiting::BackgroundTasks | Waiting::Subagents) => Activity::Working,
            Reason::Waiting(_) => Activity::Waiting,
            _ => Activity::Done,
        };
        return (activity, stop.reason.to_string());
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
        (Some(stop), _) => (Activity::Held, stop.reason.to_string()),
        (None, Some(deed)) => (Activity::Working, deed.to_owned()),
        (None, None) => (Activity::Working, String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop(decision: Decision, reason: impl Into<Reason>) -> Option<LastStop> {
        Some(LastStop { decision, reason: reason.into(), is_of_last_turn: true })
    }

    #[test]
    fn what_a_session_does_follows_from_its_last_stop_and_its_transcript() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let ago = |minutes| now - SignedDuration::from_mins(minutes);
        let asks = SeenTranscript { waiting: Some(Waiting::AnswerOfUser), ..SeenTranscript::default() };
        let runs = SeenTranscript { running: Some("cargo test".to_owned()), ..SeenTranscript::default() };
        let none = SeenTranscript::default();
        let earlier = Some(LastStop { is_of_last_turn: false, ..stop(Decision::Pass, "").unwrap() });
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
            (stop(Decision::Pass, Reason::Waiting(Waiting::AnswerOfUser)), &none, 300, Activity::Waiting),
            (stop(Decision::Pass, Reason::Waiting(Waiting::Subagents)), &none, 0, Activity::Working),
        ] {
            let found = activity(true, last.as_ref(), Some(seen), ago(minutes), now);
            assert_eq!(found.0, expected, "{last:?} {seen:?} {minutes}");
        }
        assert_eq!(activity(false, None, None, now, now).0, Activity::Done);
    }
}
