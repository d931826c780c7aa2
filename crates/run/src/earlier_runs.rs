//! What earlier runs of the same title made, found by what their stages are known by; and what they began and did not complete.

use std::collections::{BTreeMap, HashMap};

use checkpoint::layout::Layout;
use supervise::marker::Marker;

use crate::event::{Accepted, What};
use crate::plan::Stage;
use crate::record::{self, Record, StageRecord};
use crate::state::StageState;

/// So many runs are looked through, the newest ones.
const MOST_RUNS: usize = 50;

/// What a stage of an earlier run made.
#[derive(Clone, Debug)]
pub(crate) struct EarlierStage {
    pub(crate) run: Layout,
    /// What it was called there: with another list an instance has another letter.
    pub(crate) id: String,
    /// What it was run for, if it is an instance.
    pub(crate) parameters: String,
    pub(crate) accepted: Accepted,
}

/// The last attempt of a stage in an earlier run.
#[derive(Debug)]
struct EarlierAttempt {
    run: String,
    parameters: String,
    state: StageState,
    reason: Option<String>,
}

/// What the accepted attempt of a stage said of its result, and which attempt that was.
#[derive(Clone, Debug, Default)]
pub(crate) struct EarlierMarkers {
    pub(crate) attempt: u32,
    pub(crate) markers: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct EarlierRuns {
    /// By the id that the plan has, the newest first.
    stages: HashMap<String, Vec<EarlierStage>>,
    /// Likewise.
    attempts: HashMap<String, Vec<EarlierAttempt>>,
    /// By run and stage, of the runs that something was taken over from.
    markers: HashMap<String, HashMap<String, EarlierMarkers>>,
}

impl EarlierRuns {
    /// `runs` come with the newest first; a record that cannot be read has nothing to offer.
    pub(crate) fn read(runs: &[Layout]) -> Self {
        let mut found = Self::default();
        for run in runs.iter().take(MOST_RUNS) {
            found.add(run);
        }
        found
    }

    /// What a run has made of a stage meanwhile, if that has not been looked at before.
    pub(crate) fn has_read_again(&mut self, run: &Layout, stage: &Stage, fingerprint: &str) -> bool {
        let known = self.stages.get(&stage.template).into_iter().flatten();
        let is_known =
            known.filter(|made| made.run == *run).any(|made| made.accepted.fingerprint == fingerprint);
        if !is_known {
            self.add(run);
        }
        !is_known
    }

    fn add(&mut self, run: &Layout) {
        let Ok(record) = Record::read(&run.events()) else { return };
        for (id, stage, template, parameters) in stages_of(&record) {
            let parameters = parameters.to_owned();
            self.attempts.entry(template.to_owned()).or_default().extend(attempt_of(run, stage, &parameters));
            if let Some(accepted) = stage.accepted.clone() {
                let made = EarlierStage { run: run.clone(), id: id.to_owned(), parameters, accepted };
                self.stages.entry(template.to_owned()).or_default().push(made);
            }
        }
    }

    /// How the last attempt came to nothing, if there was one.
    pub(crate) fn reason_unmade(&self, stage: &Stage) -> Option<String> {
        let parameters = stage.parameters_in_words();
        let mut known = self.attempts.get(&stage.template)?.iter();
        let last = known.find(|attempt| attempt.parameters == parameters);
        let unfinished = last.filter(|last| last.state != StageState::Completed)?;
        let why = unfinished.reason.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        let how = if unfinished.state == StageState::Failed { "failed" } else { "did not complete" };
        Some(format!("it {how} in run `{}`{why}", unfinished.run))
    }

    /// What the stage said when it made this.
    pub(crate) fn markers_of(&mut self, made: &EarlierStage) -> EarlierMarkers {
        let run = made.run.run().to_owned();
        let of_run = self.markers.entry(run).or_insert_with(|| markers_by_stage(&made.run));
        of_run.get(&made.id).cloned().unwrap_or_default()
    }

    /// What may be the same, and of it what the stage is best compared with.
    pub(crate) fn of_stage(&self, stage: &Stage) -> Option<(&EarlierStage, &[EarlierStage])> {
        let all = self.stages.get(&stage.template)?;
        let parameters = stage.parameters_in_words();
        let nearest = all.iter().find(|made| made.parameters == parameters).or_else(|| all.first())?;
        Some((nearest, all))
    }
}

/// The stages of a run by their ids, with the ids that the plan has and what they are run for.
fn stages_of(record: &Record) -> Vec<(&str, &StageRecord, &str, &str)> {
    let instances: HashMap<&str, (&str, &str)> = (record.instances.iter())
        .flat_map(|(template, notes)| notes.iter().map(move |note| (template, note)))
        .map(|(template, note)| (note.stage_id.as_str(), (template.as_str(), note.parameters.as_str())))
        .collect();
    let stages: BTreeMap<&String, &StageRecord> = record.stages.iter().collect();
    let named = stages.into_iter().map(|(id, stage)| {
        let (template, parameters) = instances.get(id.as_str()).copied().unwrap_or((id, ""));
        (id.as_str(), stage, template, parameters)
    });
    named.collect()
}

fn attempt_of(run: &Layout, stage: &StageRecord, parameters: &str) -> Option<EarlierAttempt> {
    (stage.attempt > 0).then(|| EarlierAttempt {
        run: run.run().to_owned(),
        parameters: parameters.to_owned(),
        state: stage.state,
        reason: stage.reason.clone(),
    })
}

/// A record that cannot be read says nothing.
fn markers_by_stage(run: &Layout) -> HashMap<String, EarlierMarkers> {
    let mut all: HashMap<(String, u32), Vec<String>> = HashMap::new();
    let mut accepted: HashMap<String, u32> = HashMap::new();
    for event in record::read_events(&run.events()).unwrap_or_default() {
        match event.what {
            What::Marker { stage_id, attempt, marker } => {
                // How it went is not part of what came out.
                let is_of_result = |marker: Marker| marker.category() != Some("workflow");
                if Marker::parse(&marker).is_some_and(is_of_result) {
                    all.entry((stage_id, attempt)).or_default().push(marker);
                }
            }
            What::StageState { stage_id, attempt, accepted: Some(_), .. } => {
                accepted.insert(stage_id, attempt);
            }
            _ => {}
        }
    }
    let of_stage = |(stage, attempt): (String, u32)| {
        let markers = all.remove(&(stage.clone(), attempt)).unwrap_or_default();
        (stage, EarlierMarkers { attempt, markers })
    };
    accepted.into_iter().map(of_stage).collect()
}
