//! What happened in a run, told from its events: who had it in hand and when, the attempts of every stage, and what
//! each came to. Everything that a report shows is here; how it looks is not.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use checkpoint::layout::VARIABLES_FOLDER;
use jiff::{SignedDuration, Timestamp};
use supervise::marker::Marker;

use crate::event::{AcceptedArtifact, Ending, Event, HowEnded, What};
use crate::state::{RunState, StageState};

#[derive(Clone, Debug, Default)]
pub struct Story {
    pub title: String,
    pub run: String,
    pub state: RunState,
    /// In the order of the plan, where it could be read; others after them.
    pub stages: Vec<StageStory>,
    /// The plan has stages, and every one of them is left out.
    pub is_nothing_to_run: bool,
    /// One for each time that a supervisor had the run in hand: more than one means that it was resumed.
    pub sittings: Vec<Sitting>,
    /// Those of the stages, as they came.
    pub markers: Vec<StageMarker>,
    pub warnings: Vec<String>,
}

/// What an attempt of a stage said.
#[derive(Clone, Debug, Default)]
pub struct StageMarker {
    pub stage: String,
    pub attempt: u32,
    /// What an instance of a fan-out was run for when it said so.
    pub parameters: String,
    pub marker: Marker,
}

/// From the time that a supervisor took the run until the last that it wrote.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sitting {
    pub began: Timestamp,
    pub ended: Timestamp,
}

#[derive(Clone, Debug, Default)]
pub struct StageStory {
    pub id: String,
    /// Of an instance of a fan-out: the stage of the plan. Empty of others.
    pub fan_out: String,
    /// Of an instance of a fan-out: `lr = 0.1, seed = 1`.
    pub parameters: String,
    pub goal: String,
    /// It was in the plan once, and no longer is.
    pub is_dropped: bool,
    pub state: StageState,
    /// Why it is in its state, where there is a reason.
    pub reason: Option<String>,
    pub attempts: Vec<Attempt>,
    /// How often it was found done already.
    pub reused: usize,
    /// The last result that was accepted.
    pub accepted: Option<AcceptedResult>,
    pub artifacts: Vec<AcceptedArtifact>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcceptedResult {
    /// Not among the attempts where an earlier run made it.
    pub attempt: u32,
    /// What an instance of a fan-out was run for then: with another list its letter stands for something else.
    pub parameters: String,
}

#[derive(Clone, Debug, Default)]
pub struct Attempt {
    pub number: u32,
    /// What an instance of a fan-out was run for then.
    pub parameters: String,
    pub began: Timestamp,
    /// Of one that is still running, or whose supervisor was lost: the last that was heard.
    pub ended: Timestamp,
    pub outcome: Outcome,
    pub reason: Option<String>,
    pub ending: Option<Ending>,
    /// What happened on the way, for the marks on its bar.
    pub incidents: Vec<Incident>,
}

text::named! {
    #[derive(Default)]
    pub enum Outcome {
        Completed = "completed",
        Failed = "failed",
        /// At its limit, or since it stood still.
        Interrupted = "interrupted",
        /// By a person.
        Aborted = "aborted",
        /// Its supervisor was killed, and nobody saw it end.
        Lost = "lost",
        #[default]
        Running = "running",
    }
}

/// A stall, a signal, a suspension or a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Incident {
    pub at: Timestamp,
    pub what: What,
}

impl StageStory {
    /// Its id, and what it was run for.
    pub fn name(&self) -> String {
        self.name_with(&self.parameters)
    }

    /// Its id, and what the attempt was run for.
    pub fn name_in(&self, attempt: &Attempt) -> String {
        self.name_with(&attempt.parameters)
    }

    fn name_with(&self, parameters: &str) -> String {
        match parameters {
            "" => self.id.clone(),
            parameters => format!("{} ({parameters})", self.id),
        }
    }

    /// What it is the same stage by in another run, where other instances may have its letters.
    pub(super) fn known_by(&self) -> String {
        match self.fan_out.as_str() {
            "" => self.id.clone(),
            fan_out => format!("{fan_out} ({})", self.parameters),
        }
    }

    /// The result that counts.
    pub(super) fn result(&self) -> Option<&AcceptedResult> {
        self.accepted.as_ref().filter(|accepted| self.outdated(accepted.attempt).is_none())
    }

    /// The attempt whose result counts, where it is of this run.
    pub fn accepted_attempt(&self) -> Option<&Attempt> {
        let number = self.result()?.attempt;
        self.attempts.iter().rfind(|attempt| attempt.number == number)
    }

    /// Why what a completed attempt made does not count, where it does not.
    fn outdated(&self, number: u32) -> Option<&'static str> {
        match &self.accepted {
            Some(accepted) if accepted.attempt == number => {
                if self.is_dropped {
                    Some("no longer in the plan")
                } else if self.state != StageState::Completed {
                    Some("before the re-run")
                } else {
                    (accepted.parameters != self.parameters).then_some("with other parameters")
                }
            }
            _ => Some("superseded"),
        }
    }

    /// The same of the files that it made last.
    pub(super) fn outdated_artifacts(&self) -> Option<&'static str> {
        self.outdated(self.accepted.as_ref()?.attempt)
    }

    /// Why the result of an attempt does not count, where it made one that does not.
    pub(super) fn fate(&self, attempt: &Attempt) -> Option<&'static str> {
        (attempt.outcome == Outcome::Completed).then(|| self.outdated(attempt.number))?
    }

    /// What became of an attempt, unless it is the accepted one.
    pub(super) fn remark(&self, number: u32) -> Option<String> {
        let attempt = self.attempts.iter().find(|attempt| attempt.number == number);
        // What an earlier run made has no attempt here.
        let fate = match attempt.map_or(Outcome::Completed, |attempt| attempt.outcome) {
            Outcome::Completed => self.outdated(number)?,
            outcome => outcome.name(),
        };
        Some(format!("attempt {number}, {fate}"))
    }

    /// Its status, where it has no attempt that says so.
    pub(super) fn standing(&self) -> &'static str {
        self.outdated_artifacts().unwrap_or_else(|| self.state.name())
    }
}

impl Attempt {
    /// Suspensions left out where the supervisor measured it.
    pub fn duration(&self) -> SignedDuration {
        match &self.ending {
            Some(ending) => {
                SignedDuration::from_millis(i64::try_from(ending.elapsed_milliseconds).unwrap_or(i64::MAX))
            }
            None => self.ended.duration_since(self.began).max(SignedDuration::ZERO),
        }
    }
}

impl Story {
    /// `plan` holds the stages of the plan with their goals, where it can be read.
    pub fn of(events: &[Event], plan: Option<&[(String, String)]>) -> Self {
        let mut teller = Teller::default();
        let order = plan.unwrap_or_default();
        for (id, goal) in order {
            teller.stage(id).goal.clone_from(goal);
        }
        for event in events {
            teller.tell(event);
        }
        teller.leave_behind(Outcome::Running);
        let Teller { mut story, fan_outs, .. } = teller;
        let places: HashMap<&str, usize> =
            order.iter().enumerate().map(|(place, (id, _))| (id.as_str(), place)).collect();
        let goal = |place: usize| order.get(place).map(|(_, goal)| goal.as_str()).unwrap_or_default();
        for stage in &mut story.stages {
            let has_instances = fan_outs.contains_key(&stage.id);
            let is_of_list = stage.fan_out.is_empty()
                || fan_outs.get(&stage.fan_out).is_some_and(|ids| ids.contains(&stage.id));
            // A fan-out that is known only during the run stands in the plan by its own id.
            let is_planned = plan.is_none()
                || places.contains_key(stage.id.as_str())
                || places.contains_key(stage.fan_out.as_str());
            stage.is_dropped = has_instances || !is_of_list || !is_planned;
        }
        let has_run = |stage: &StageStory| !stage.attempts.is_empty() || stage.accepted.is_some();
        story.stages.retain(|stage| !stage.is_dropped || has_run(stage));
        story.is_nothing_to_run = plan.is_some_and(<[_]>::is_empty);
        // Instances that became known during the run stand where the plan has their fan-out.
        let place = |stage: &StageStory| {
            let own = places.get(stage.id.as_str()).or_else(|| places.get(stage.fan_out.as_str()));
            own.copied()
        };
        for stage in story.stages.iter_mut().filter(|stage| stage.goal.is_empty()) {
            stage.goal = place(stage).map(goal).unwrap_or_default().to_owned();
        }
        story.stages.sort_by_key(|stage| (stage.is_dropped, place(stage).unwrap_or(usize::MAX)));
        story
    }

    /// Old checkpoints are pruned; only those that are there are worth naming.
    pub(super) fn forget_checkpoints(&mut self, is_there: impl Fn(&str) -> bool) {
        for attempt in self.stages.iter_mut().flat_map(|stage| &mut stage.attempts) {
            attempt.incidents.retain(|incident| match &incident.what {
                What::Checkpoint { checkpoint_id, .. } => is_there(checkpoint_id),
                _ => true,
            });
        }
    }

    /// When a supervisor first took the run.
    pub fn started_at(&self) -> Option<Timestamp> {
        self.sittings.first().map(|sitting| sitting.began)
    }

    /// How long supervisors had the run in hand, all together.
    pub fn elapsed(&self) -> SignedDuration {
        self.sittings.iter().fold(SignedDuration::ZERO, |sum, sitting| {
            sum + sitting.ended.duration_since(sitting.began).max(SignedDuration::ZERO)
        })
    }

    /// What the run is for, by the word of its stages.
    pub fn goal(&self) -> Option<&str> {
        self.markers.iter().find(|said| said.marker.kind == "OBJECTIVE").map(|said| said.marker.text.as_str())
    }

    /// What the stages said with markers of these types: those of accepted attempts first, and of others what became of them.
    pub(super) fn said(&self, kinds: &[&str]) -> Vec<(&Marker, Option<String>)> {
        let stages: HashMap<&str, &StageStory> =
            self.stages.iter().map(|stage| (stage.id.as_str(), stage)).collect();
        let of_kinds = self.markers.iter().filter(|said| kinds.contains(&said.marker.kind.as_str()));
        let remark = |said: &StageMarker| stages.get(said.stage.as_str())?.remark(said.attempt);
        let mut said: Vec<_> = of_kinds.map(|said| (&said.marker, remark(said))).collect();
        said.sort_by_key(|(_, remark)| remark.is_some());
        said
    }

    /// How many stages of the plan are complete, and how many it has.
    pub fn progress(&self) -> (usize, usize) {
        let planned = || self.stages.iter().filter(|stage| !stage.is_dropped);
        (planned().filter(|stage| stage.state == StageState::Completed).count(), planned().count())
    }

    /// How often the run was gone on with.
    pub fn resumes(&self) -> usize {
        self.sittings.len().saturating_sub(1)
    }
}

#[derive(Default)]
struct Teller {
    story: Story,
    /// Where each stage is among the story's.
    places: HashMap<String, usize>,
    was_taken: bool,
    /// Stages of the plan that have instances in their place, with the ids of the last ones.
    fan_outs: HashMap<String, HashSet<String>>,
}

impl Teller {
    fn tell(&mut self, event: &Event) {
        let at = event.at;
        let is_taken = matches!(event.what, What::RunTaken { .. });
        // The plan is written down just before the run is first taken: that is one sitting.
        let is_first = self.story.sittings.len() == 1 && !self.was_taken;
        if self.story.sittings.is_empty() || is_taken && !is_first {
            self.leave_behind(Outcome::Lost);
            self.story.sittings.push(Sitting { began: at, ended: at });
        }
        self.was_taken |= is_taken;
        if let Some(sitting) = self.story.sittings.last_mut() {
            sitting.ended = sitting.ended.max(at);
        }
        match &event.what {
            What::RunPlanned { report_title, run_id, .. } => {
                self.story.title.clone_from(report_title);
                self.story.run.clone_from(run_id);
            }
            What::FanOut { stage_id, instances } => {
                let ids = instances.iter().map(|instance| instance.stage_id.clone());
                self.fan_outs.insert(stage_id.clone(), ids.collect());
                for instance in instances {
                    let stage = self.stage(&instance.stage_id);
                    stage.parameters.clone_from(&instance.parameters);
                    stage.fan_out.clone_from(stage_id);
                }
            }
            What::RunState { to, .. } => self.story.state = *to,
            What::StageState { stage_id, attempt, to, reason, ending, accepted, .. } => {
                // What runs itself has no instances any more.
                if matches!(to, StageState::Running | StageState::Completed) {
                    self.fan_outs.remove(stage_id);
                }
                let stage = self.stage(stage_id);
                if *to == StageState::Completed {
                    let parameters = stage.parameters.clone();
                    stage.accepted = Some(AcceptedResult { attempt: *attempt, parameters });
                }
                stage.state = *to;
                stage.reason.clone_from(reason);
                if let Some(accepted) = accepted {
                    stage.artifacts.clone_from(&accepted.artifacts);
                    // They are for the next kernel, and tell a person nothing.
                    let is_of_variables = |path: &str| Path::new(path).starts_with(VARIABLES_FOLDER);
                    stage.artifacts.retain(|artifact| !is_of_variables(&artifact.path));
                }
                if *to == StageState::Running {
                    let (number, parameters) = (*attempt, stage.parameters.clone());
                    let attempt = Attempt { number, parameters, began: at, ended: at, ..Attempt::default() };
                    stage.attempts.push(attempt);
                } else if let Some(attempt) = stage.attempts.last_mut() {
                    attempt.end(at, *to, reason.as_deref(), ending.as_ref());
                }
            }
            What::StageReused { stage_id, .. } => {
                let stage = self.stage(stage_id);
                stage.reused += 1;
                // For all that it depends on, it is the same.
                if let Some(accepted) = &mut stage.accepted {
                    accepted.parameters.clone_from(&stage.parameters);
                }
            }
            What::Marker { stage_id, attempt, marker } => {
                let Some(marker) = Marker::parse(marker) else { return };
                let parameters = self.stage(stage_id).parameters.clone();
                let said = StageMarker { stage: stage_id.clone(), attempt: *attempt, parameters, marker };
                self.story.markers.push(said);
            }
            What::Stall { stage_id, .. }
            | What::Signal { stage_id, .. }
            | What::Suspended { stage_id, .. }
            | What::Checkpoint { stage_id, .. } => {
                if let Some(attempt) = self.stage(stage_id).attempts.last_mut() {
                    attempt.incidents.push(Incident { at, what: event.what.clone() });
                }
            }
            What::Warning { text, .. } => self.story.warnings.push(text.clone()),
            _ => {}
        }
    }

    /// What ran when a sitting ended was not seen to end: the last that was heard is the end of the sitting.
    fn leave_behind(&mut self, outcome: Outcome) {
        let Some(heard) = self.story.sittings.last().map(|sitting| sitting.ended) else { return };
        for attempt in self.story.stages.iter_mut().filter_map(|stage| stage.attempts.last_mut()) {
            if attempt.outcome == Outcome::Running {
                attempt.outcome = outcome;
                attempt.ended = heard.max(attempt.began);
            }
        }
    }

    fn stage(&mut self, id: &str) -> &mut StageStory {
        let stages = &mut self.story.stages;
        let place = *self.places.entry(id.to_owned()).or_insert_with(|| {
            stages.push(StageStory { id: id.to_owned(), ..StageStory::default() });
            stages.len() - 1
        });
        #[expect(clippy::indexing_slicing, reason = "the place was found or made right above")]
        &mut stages[place]
    }
}

impl Attempt {
    fn end(&mut self, at: Timestamp, to: StageState, reason: Option<&str>, ending: Option<&Ending>) {
        let how = ending.map(|ending| ending.how);
        let outcome = match to {
            StageState::Completed => Outcome::Completed,
            StageState::Failed => Outcome::Failed,
            StageState::Interrupted if how == Some(HowEnded::Aborted) => Outcome::Aborted,
            StageState::Interrupted => Outcome::Interrupted,
            // What becomes of a stage afterwards is not of this attempt.
            _ => return,
        };
        // Of a lost one the next supervisor says that it was interrupted; when it ended nobody knows.
        if self.outcome != Outcome::Lost {
            self.outcome = outcome;
            self.ended = at;
        }
        self.reason = reason.map(str::to_owned);
        self.ending = ending.cloned();
    }
}
