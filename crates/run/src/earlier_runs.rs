//! What earlier runs of the same title made, found by what their stages are known by.

use std::collections::{BTreeMap, HashMap};

use checkpoint::layout::Layout;

use crate::event::Accepted;
use crate::plan::Stage;
use crate::record::Record;

/// So many runs are looked through, the newest ones.
const MOST_RUNS: usize = 50;

/// What a stage of an earlier run made.
#[derive(Clone, Debug)]
pub(crate) struct EarlierStage {
    pub(crate) run: Layout,
    /// What it was called there: with another list an instance has another letter.
    pub(crate) id: String,
    pub(crate) accepted: Accepted,
}

#[derive(Debug, Default)]
pub(crate) struct EarlierRuns {
    /// By the id that the plan has, the newest first.
    stages: HashMap<String, Vec<EarlierStage>>,
}

impl EarlierRuns {
    /// `runs` come with the newest first; a record that cannot be read has nothing to offer.
    pub(crate) fn read(runs: &[Layout]) -> Self {
        let mut found = Self::default();
        for run in runs.iter().take(MOST_RUNS) {
            let Ok(record) = Record::read(&run.events()) else { continue };
            let templates: HashMap<&str, &str> = (record.instances.iter())
                .flat_map(|(template, notes)| {
                    notes.iter().map(|note| (note.stage_id.as_str(), template.as_str()))
                })
                .collect();
            for (id, stage) in record.stages.iter().collect::<BTreeMap<_, _>>() {
                if let Some(accepted) = stage.accepted.clone() {
                    let template = templates.get(id.as_str()).copied().unwrap_or(id);
                    let made = EarlierStage { run: run.clone(), id: id.clone(), accepted };
                    found.stages.entry(template.to_owned()).or_default().push(made);
                }
            }
        }
        found
    }

    /// What may be the same, and of it what the stage is best compared with.
    pub(crate) fn of_stage(&self, stage: &Stage) -> Option<(&EarlierStage, &[EarlierStage])> {
        let all = self.stages.get(&stage.template)?;
        let nearest = all.iter().find(|made| made.id == stage.id).or_else(|| all.first())?;
        Some((nearest, all))
    }
}
