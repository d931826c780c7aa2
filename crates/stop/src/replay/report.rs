//! What replayed turns add up to: the JSON of `checkstone replay --json`.

use std::collections::HashSet;

use gate::{ActionState, Decision, Rule, Verdict};
use jiff::Timestamp;
use serde::Serialize;
use transcript::Agent;

use crate::replay::replayed_session::ReplayedTurn;

/// Of a prompt so many characters say which turn it was.
const PROMPT_SHOWN: usize = 300;

/// A policy over recorded turns.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// The file that was given with `--policy`; null where each session's repository has its own.
    pub policy: Option<String>,
    pub totals: Totals,
    pub turns: Counts,
    /// By rule: in how many turns it had something to say.
    pub rules: Vec<RuleCount>,
    /// By action: in how many turns it was required, satisfied or waived.
    pub actions: Vec<ActionCount>,
    pub agents: Vec<AgentCount>,
    /// By day in UTC, in order; the day is null for turns without a time.
    pub days: Vec<DayCount>,
    /// Why turns would have passed or been told, most frequent first.
    pub reasons: Vec<ReasonCount>,
    /// Why turns were not judged, most frequent first.
    pub not_judged: Vec<ReasonCount>,
    /// Turns that were held when they took place: our message is in their transcripts.
    pub held_then: HeldThen,
    /// Every turn that would have been held, in the order of time.
    pub holds: Vec<Hold>,
    /// Files that are no transcripts, or could not be read to their end.
    pub unread: Vec<UnreadFile>,
    #[serde(skip)]
    seen: HashSet<(Agent, String, Option<Timestamp>)>,
}

#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Totals {
    /// Transcripts that hold at least one turn.
    pub sessions: u64,
    /// Files that were looked at.
    pub files: u64,
    /// Of them, found in a folder and no transcripts.
    pub others: u64,
    /// The size of all transcripts.
    pub bytes: u64,
    /// Turns that stand in several transcripts, as after a fork, and were counted once.
    pub repeated: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counts {
    pub total: u64,
    pub hold: u64,
    pub notify: u64,
    pub pass: u64,
    pub not_judged: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleCount {
    pub rule: Rule,
    /// Turns that would have been held, in which it spoke.
    pub hold: u64,
    /// Turns of which the person would have been told, in which it spoke.
    pub notify: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ActionCount {
    pub action: String,
    pub required: u64,
    pub satisfied: u64,
    pub waived: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentCount {
    pub agent: Agent,
    pub turns: Counts,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DayCount {
    pub day: Option<String>,
    pub turns: Counts,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReasonCount {
    pub reason: String,
    pub turns: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HeldThen {
    pub turns: u64,
    /// Those of them that this policy would have held as well.
    pub hold_now: u64,
}

/// A turn that would have been held.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Hold {
    pub agent: Agent,
    pub transcript: String,
    /// The line of the prompt in the transcript.
    pub line: Option<u64>,
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub started_at: Option<Timestamp>,
    /// The beginning of the prompt.
    pub prompt: String,
    /// It was held when it took place as well.
    pub held_then: bool,
    pub verdict: Verdict,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnreadFile {
    pub path: String,
    pub reason: String,
}

impl Counts {
    fn add(&mut self, decision: Option<Decision>) {
        self.total += 1;
        match decision {
            Some(Decision::Hold) => self.hold += 1,
            Some(Decision::Notify) => self.notify += 1,
            Some(Decision::Pass) => self.pass += 1,
            None => self.not_judged += 1,
        }
    }
}

impl Report {
    /// Counts one turn.
    pub fn add(&mut self, agent: Agent, transcript: &str, turn: ReplayedTurn) {
        if let Some(id) = &turn.id
            && !self.seen.insert((agent, id.clone(), turn.started_at))
        {
            self.totals.repeated += 1;
            return;
        }
        let decision = turn.judged.as_ref().ok().map(|verdict| verdict.decision);
        self.turns.add(decision);
        found(
            &mut self.agents,
            |count| count.agent == agent,
            || AgentCount { agent, turns: Counts::default() },
        )
        .turns
        .add(decision);
        let day = turn.started_at.map(|began| began.strftime("%Y-%m-%d").to_string());
        found(
            &mut self.days,
            |count| count.day == day,
            || DayCount { day: day.clone(), turns: Counts::default() },
        )
        .turns
        .add(decision);
        if turn.was_held {
            self.held_then.turns += 1;
            self.held_then.hold_now += u64::from(decision == Some(Decision::Hold));
        }
        match turn.judged {
            Err(reason) => count(&mut self.not_judged, &reason.to_string()),
            Ok(verdict) => {
                self.count_verdict(&verdict);
                if verdict.decision == Decision::Hold {
                    self.holds.push(Hold {
                        agent,
                        transcript: transcript.to_owned(),
                        line: turn.line,
                        started_at: turn.started_at,
                        prompt: text::shortened(&turn.prompt, PROMPT_SHOWN),
                        held_then: turn.was_held,
                        verdict,
                    });
                }
            }
        }
    }

    fn count_verdict(&mut self, verdict: &Verdict) {
        let mut rules: Vec<Rule> = verdict.observations.iter().map(|observation| observation.rule).collect();
        // A missing action has no sentence of its own where an error says the same.
        if verdict.actions.iter().any(|action| action.state == ActionState::Required) {
            rules.push(Rule::MissingAction);
        }
        let mut counted: Vec<Rule> = Vec::new();
        for rule in rules {
            if counted.contains(&rule) {
                continue;
            }
            counted.push(rule);
            let entry =
                found(&mut self.rules, |count| count.rule == rule, || RuleCount { rule, hold: 0, notify: 0 });
            match verdict.decision {
                Decision::Hold => entry.hold += 1,
                Decision::Notify => entry.notify += 1,
                Decision::Pass => {}
            }
        }
        for action in &verdict.actions {
            let entry = found(
                &mut self.actions,
                |count| count.action == action.id,
                || ActionCount { action: action.id.clone(), required: 0, satisfied: 0, waived: 0 },
            );
            match action.state {
                ActionState::Required => entry.required += 1,
                ActionState::Satisfied => entry.satisfied += 1,
                ActionState::Waived => entry.waived += 1,
                // Among the observations.
                ActionState::Reported => {}
            }
        }
        if verdict.decision != Decision::Hold {
            count(&mut self.reasons, &verdict.reason);
        }
    }

    /// Puts everything into the order in which it is shown.
    pub fn finish(&mut self) {
        self.rules.sort_by_key(|count| (std::cmp::Reverse((count.hold, count.notify)), count.rule as u8));
        self.actions.sort_by(|left, right| {
            (right.required, right.satisfied, &left.action).cmp(&(
                left.required,
                left.satisfied,
                &right.action,
            ))
        });
        self.agents.sort_by_key(|count| count.agent.name());
        self.days.sort_by(|left, right| left.day.cmp(&right.day));
        for reasons in [&mut self.reasons, &mut self.not_judged] {
            reasons.sort_by(|left, right| (right.turns, &left.reason).cmp(&(left.turns, &right.reason)));
        }
        self.holds.sort_by(|left, right| {
            let key = |hold: &Hold| (hold.started_at, hold.transcript.clone(), hold.line);
            key(left).cmp(&key(right))
        });
    }
}

fn count(reasons: &mut Vec<ReasonCount>, reason: &str) {
    found(reasons, |count| count.reason == reason, || ReasonCount { reason: reason.to_owned(), turns: 0 })
        .turns += 1;
}

/// The entry that is meant, made where there is none yet.
fn found<T>(entries: &mut Vec<T>, is_it: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> &mut T {
    let place = entries.iter().position(is_it).unwrap_or_else(|| {
        entries.push(new());
        entries.len() - 1
    });
    #[expect(clippy::indexing_slicing, reason = "it was found or pushed just now")]
    &mut entries[place]
}
