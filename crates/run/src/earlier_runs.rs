//! What earlier runs of the same title made, found by what their stages are known by.

use std::collections::HashMap;

use checkpoint::layout::Layout;

use crate::event::Accepted;
use crate::record::Record;

/// So many runs are looked through, the newest ones.
const MOST_RUNS: usize = 50;

/// What a stage of an earlier run made.
#[derive(Clone, Debug)]
pub(crate) struct EarlierStage {
    pub(crate) run: Layout,
    pub(crate) accepted: Accepted,
}

#[derive(Debug, Default)]
pub(crate) struct EarlierRuns {
    /// By the id of the stage, the newest first.
    stages: HashMap<String, Vec<EarlierStage>>,
}

impl EarlierRuns {
    /// `runs` come with the newest first; a record that cannot be read has nothing to offer.
    pub(crate) fn read(runs: &[Layout]) -> Self {
        let mut found = Self::default();
        for run in runs.iter().take(MOST_RUNS) {
            let Ok(record) = Record::read(&run.events()) else { continue };
            for (id, stage) in record.stages {
                if let Some(accepted) = stage.accepted {
                    found.stages.entry(id).or_default().push(EarlierStage { run: run.clone(), accepted });
                }
            }
        }
        found
    }

    pub(crate) fn of_stage(&self, id: &str) -> &[EarlierStage] {
        self.stages.get(id).map_or(&[], Vec::as_slice)
    }
}
