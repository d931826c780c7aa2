//! Which run of a title last began a stage that must not be repeated, whatever became of that run since. The note lies beside the
//! runs: a run that does not know the others, or began at the same time as one of them, sees it, and it stays when runs are removed.
//!
//! `reports/{title}/checkpoints/.begun/{stage}/{turn}.json`: each beginning is the next turn, and a file that can be made only once.
//! So no lock is needed, which would not reach every host of a shared file system.

use std::path::{Path, PathBuf};

use checkpoint::hash;
use checkpoint::layout::Layout;
use files::atomic_file::{self, Replaced};
use files::regular_file::{self, Links};
use files::{FileError, Folder, sync_directory};
use serde::{Deserialize, Serialize};
use text::shell_word;

use crate::engine::Beginning;
use crate::plan::Stage;
use crate::publish::{self, PublishError};
use crate::state::NOT_RETRYABLE;

const BEGUN: &str = ".begun";
const EXTENSION: &str = ".json";
const LONGEST: u64 = 64 << 10;
/// No stage is begun so often; a file with a higher number is no turn.
const MOST_TURNS: u32 = 1_000_000_000;
const RUN_FRESH: &str = "`checkstone run --fresh` runs everything anyway";

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct TurnNote {
    run: String,
    /// What the stage is called there, and what it is run for.
    stage_id: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    parameters: String,
    /// Of what completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fingerprint: Option<String>,
}

/// The last beginning of a stage.
#[derive(Clone, Debug)]
pub(crate) struct LastTurn {
    number: u32,
    state: TurnState,
}

#[derive(Clone, Debug)]
enum TurnState {
    NeverBegun,
    Begun(TurnNote),
    /// With what it was known by then.
    Completed(TurnNote, String),
    /// It was begun, and nobody can tell by whom.
    Unreadable(PathBuf),
}

/// What a stage is known by now.
pub(crate) enum PresentFingerprint {
    Is(String),
    /// A stage before it runs first.
    MayDiffer,
    Unknown,
}

impl PresentFingerprint {
    fn may_differ_from(&self, fingerprint: &str) -> bool {
        match self {
            Self::Is(now) => now != fingerprint,
            Self::MayDiffer => true,
            Self::Unknown => false,
        }
    }
}

/// The beginnings of a title's stages, as one of its runs sees them.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    layout: Layout,
    beginning: Beginning,
}

impl Turns {
    pub(crate) fn of(layout: &Layout, beginning: Beginning) -> Self {
        Self { layout: layout.clone(), beginning }
    }

    /// Makes the next turn this run's, on the disk; not if another run was faster.
    pub(crate) fn take(&self, stage: &Stage, last: &LastTurn) -> Result<Replaced, PublishError> {
        let folder = self.folder(stage);
        publish::make_folder(self.layout.root(), &folder)?;
        let own = last.number + 1;
        let place = folder.join(file_name(own));
        if atomic_file::replace_if_unchanged(&place, None, &self.note(stage, None).bytes(), 0o666)?
            == Replaced::Changed
        {
            return Ok(Replaced::Changed);
        }
        if last.number == 0 {
            for above in folder.ancestors().skip(1).take(2) {
                sync_directory(above)?;
            }
        }
        let all = numbers(&folder)?;
        // Others were so much faster that this number had been taken, and removed.
        if all.iter().any(|other| *other > own) {
            fs_err::remove_file(&place).map_err(FileError::failed("remove", &place))?;
            return Ok(Replaced::Changed);
        }
        // Somebody may be reading the last one.
        for old in all.into_iter().filter(|old| *old < last.number) {
            let _ = fs_err::remove_file(folder.join(file_name(old)));
        }
        Ok(Replaced::Yes)
    }

    /// The stage completed in this run, unless another has begun it since.
    pub(crate) fn complete(&self, stage: &Stage, fingerprint: &str) -> Result<(), PublishError> {
        let last = self.last(stage);
        if !matches!(&last.state, TurnState::Begun(note) if note.run == self.layout.run()) {
            return Ok(());
        }
        let note = self.note(stage, Some(fingerprint.to_owned()));
        let place = self.folder(stage).join(file_name(last.number));
        Ok(atomic_file::write(&place, &note.bytes(), 0o666)?)
    }

    pub(crate) fn last(&self, stage: &Stage) -> LastTurn {
        let folder = self.folder(stage);
        let number = match numbers(&folder) {
            Ok(numbers) => numbers.into_iter().max(),
            Err(_) => return LastTurn { number: 0, state: TurnState::Unreadable(folder) },
        };
        let Some(number) = number else { return LastTurn { number: 0, state: TurnState::NeverBegun } };
        let path = folder.join(file_name(number));
        let state = match self.read(&path) {
            Some(mut note) => match note.fingerprint.take() {
                Some(fingerprint) => TurnState::Completed(note, fingerprint),
                None => TurnState::Begun(note),
            },
            None => TurnState::Unreadable(path),
        };
        LastTurn { number, state }
    }

    /// The run that completed the stage in this turn, if it did and was known by this then.
    pub(crate) fn completed_as(&self, last: &LastTurn, fingerprint: &str) -> Option<Layout> {
        match &last.state {
            TurnState::Completed(note, known) if known == fingerprint => self.of_run(&note.run),
            _ => None,
        }
    }

    /// Why the stage is not begun after this turn.
    pub(crate) fn reason_not_to_begin(
        &self,
        last: &LastTurn,
        stage: &Stage,
        present: &PresentFingerprint,
    ) -> Option<String> {
        let (note, how) = match &last.state {
            TurnState::NeverBegun => return None,
            // It was killed before it could record that.
            TurnState::Begun(note)
                if note.run == self.layout.run() && self.beginning == Beginning::Resumed =>
            {
                return None;
            }
            TurnState::Begun(note) => (note, "started it but did not complete it"),
            TurnState::Completed(_, fingerprint) if present.may_differ_from(fingerprint) => return None,
            TurnState::Completed(note, _) => (note, "completed it, but what that made cannot be used again"),
            TurnState::Unreadable(path) => {
                let path = self.layout.relative(path);
                return Some(format!(
                    "{NOT_RETRYABLE}, and `{path}`, which says whether it was started, cannot be read; {RUN_FRESH}"
                ));
            }
        };
        let (run, word, id) = (&note.run, shell_word(&note.run), shell_word(&stage.id));
        let is_there = self.of_run(run).is_some_and(|run| run.events().is_file());
        let anyway = match is_there {
            true => format!("`checkstone resume {word} --again {id}` runs it anyway"),
            false => RUN_FRESH.to_owned(),
        };
        Some(format!("{NOT_RETRYABLE}, and run `{run}` {how}; {anyway}"))
    }

    fn note(&self, stage: &Stage, fingerprint: Option<String>) -> TurnNote {
        TurnNote {
            run: self.layout.run().to_owned(),
            stage_id: stage.id.clone(),
            parameters: stage.parameters_in_words(),
            fingerprint,
        }
    }

    /// The file may come from anywhere, and so may the names in it.
    fn read(&self, path: &Path) -> Option<TurnNote> {
        let bytes = regular_file::read(path, Links::Refuse, LONGEST).ok()?;
        let note: TurnNote = serde_json::from_slice(&bytes).ok()?;
        self.of_run(&note.run)?.published(&note.stage_id).ok()?;
        Some(note)
    }

    fn of_run(&self, run: &str) -> Option<Layout> {
        Layout::new(self.layout.root(), self.layout.title(), run).ok()
    }

    fn folder(&self, stage: &Stage) -> PathBuf {
        let key = format!("{}\n{}", stage.template, stage.parameters_in_words());
        self.layout.checkpoints().join(BEGUN).join(hash::of_bytes(key.as_bytes()))
    }
}

impl TurnNote {
    fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).unwrap_or_default()
    }
}

fn file_name(number: u32) -> String {
    format!("{number}{EXTENSION}")
}

/// None if there is no such folder.
fn numbers(folder: &Path) -> Result<Vec<u32>, FileError> {
    let entries = match Folder::open(folder).and_then(|folder| folder.entries()) {
        Err(error) if error.is_not_found() => Vec::new(),
        entries => entries?,
    };
    let number = |name: &str| name.strip_suffix(EXTENSION)?.parse().ok();
    let numbers =
        entries.iter().filter_map(|(name, _)| number(name).filter(|number| file_name(*number) == *name));
    Ok(numbers.filter(|number| *number < MOST_TURNS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    /// A run may take long between its look and its turn.
    #[test]
    fn a_turn_that_is_long_over_is_not_taken() {
        let root = tempfile::tempdir().unwrap();
        let text = "title = \"t\"\n[[stage]]\nstageId = \"S01_send_mail\"\ngoal = \"Send the mail to everybody\"\n\
                    command = 'true'\nretryable = false\n";
        let plan = Plan::read("plan.toml", text, root.path()).unwrap();
        let stage = plan.stages.first().unwrap();
        let of_run = |run: &str| Turns::of(&Layout::new(root.path(), "t", run).unwrap(), Beginning::New);
        let (slow, fast) = (of_run("slow"), of_run("fast"));
        let take = |turns: &Turns, last: &LastTurn| turns.take(stage, last).unwrap();
        assert_eq!(take(&fast, &fast.last(stage)), Replaced::Yes);
        let seen = slow.last(stage);
        for _ in 0..4 {
            assert_eq!(take(&fast, &fast.last(stage)), Replaced::Yes);
            assert_eq!(take(&slow, &seen), Replaced::Changed);
        }
        let last = fast.last(stage);
        assert_eq!(last.number, 5);
        assert!(matches!(last.state, TurnState::Begun(note) if note.run == "fast"));
    }
}
