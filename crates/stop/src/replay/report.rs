//! What replayed turns add up to: the JSON of `checkstone replay --json`.

use std::collections::HashSet;

use gate::{ActionState, Decision, Rule, Verdict};
use jiff::Timestamp;
use serde::Serialize;
use transcript::Agent;

use crate::replay::replayed_session::ReplayedTurn;
use crate::statistics::{CountedTurns, Counts, Statistics, found};

/// Of a prompt so many characters say which turn it was.
const PROMPT_SHOWN: usize = 300;

/// A policy over recorded turns.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// The file that was given with `--policy`; null if each session's repository has its own.
    pub policy: Option<String>,
    pub totals: Totals,
    #[serde(flatten)]
    pub statistics: Statistics,
    /// By rule: in how many turns it fired.
    pub rules: Vec<RuleCount>,
    /// By action: in how many turns it was required, satisfied or waived.
    pub actions: Vec<ActionCount>,
    /// Why turns would have passed or been reported, most frequent first.
    pub reasons: Vec<ReasonCount>,
    /// Why turns were not judged, most frequent first.
    pub not_judged: Vec<ReasonCount>,
    /// Turns that were held when they took place: our message is in their transcripts.
    pub held_then: HeldThen,
    /// Every turn that would have been held, in the order of time.
    pub holds: Vec<Hold>,
    /// Every turn that would have been reported or passed, in the order of time.
    pub others: Vec<OtherTurn>,
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
    /// Turns that are in several transcripts, as after a fork, and were counted once.
    pub repeated: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RuleCount {
    pub rule: Rule,
    /// Turns that would have been held, in which it fired.
    pub hold: u64,
    /// Turns that would have been reported to the person, in which it fired.
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
    /// The folder of the repository that the session worked in.
    pub project: Option<String>,
    pub transcript: String,
    /// The line of the prompt in the transcript.
    pub line: Option<u64>,
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub started_at: Option<Timestamp>,
    /// The beginning of the prompt.
    pub prompt: String,
    /// It was held when it took place as well.
    pub held_then: bool,
    /// What was missing ran after that hold.
    pub then_tested: bool,
    pub verdict: Verdict,
}

/// A turn that would have been reported to the person, or passed.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherTurn {
    pub agent: Agent,
    /// The folder of the repository that the session worked in.
    pub project: Option<String>,
    pub transcript: String,
    /// The line of the prompt in the transcript.
    pub line: Option<u64>,
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub started_at: Option<Timestamp>,
    /// The beginning of the prompt.
    pub prompt: String,
    pub held_then: bool,
    pub then_tested: bool,
    pub verdict: Decision,
    /// Why, in one sentence.
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct UnreadFile {
    pub path: String,
    pub reason: String,
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
        self.statistics.add(CountedTurns {
            agent: Some(agent),
            project: turn.project.clone(),
            began: turn.started_at,
            counts: Counts::one(decision, turn.was_held, turn.then_tested),
        });
        if turn.was_held {
            self.held_then.turns += 1;
            self.held_then.hold_now += u64::from(decision == Some(Decision::Hold));
        }
        match turn.judged {
            Err(reason) => count(&mut self.not_judged, &reason.to_string()),
            Ok(verdict) => {
                self.count_verdict(&verdict);
                let ReplayedTurn { project, line, started_at, was_held, then_tested, .. } = turn;
                let (transcript, held_then) = (transcript.to_owned(), was_held);
                let prompt = text::shortened(&turn.prompt, PROMPT_SHOWN);
                match verdict.decision {
                    Decision::Hold => self.holds.push(Hold {
                        agent,
                        project,
                        transcript,
                        line,
                        started_at,
                        prompt,
                        held_then,
                        then_tested,
                        verdict,
                    }),
                    Decision::Notify | Decision::Pass => self.others.push(OtherTurn {
                        agent,
                        project,
                        transcript,
                        line,
                        started_at,
                        prompt,
                        held_then,
                        then_tested,
                        verdict: verdict.decision,
                        reason: verdict.reason.to_string(),
                    }),
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
            count(&mut self.reasons, verdict.reason.as_str());
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
        self.statistics.finish();
        for reasons in [&mut self.reasons, &mut self.not_judged] {
            reasons.sort_by(|left, right| (right.turns, &left.reason).cmp(&(left.turns, &right.reason)));
        }
        self.holds.sort_by(|left, right| {
            let key = |hold: &Hold| (hold.started_at, hold.transcript.clone(), hold.line);
            key(left).cmp(&key(right))
        });
        self.others.sort_by(|left, right| {
            let key = |turn: &OtherTurn| (turn.started_at, turn.transcript.clone(), turn.line);
            key(left).cmp(&key(right))
        });
    }
}

fn count(reasons: &mut Vec<ReasonCount>, reason: &str) {
    found(reasons, |count| count.reason == reason, || ReasonCount { reason: reason.to_owned(), turns: 0 })
        .turns += 1;
}
