//! What a turn edited by the word of its timeline alone: for where no repository can be asked, and which files it shows whole.

use std::collections::{BTreeMap, BTreeSet};

use programs::Deed;
use programs::shell::Intents;
use transcript::{Kind, Outcome};

use crate::inputs::{Inputs, RecordedCall};
use crate::work::Paths;

/// The endings that the scripts which the timeline shows as written would have, by their first lines.
pub fn script_endings(inputs: &Inputs) -> BTreeMap<String, String> {
    let spelling = Paths::new(&inputs.cwd, &inputs.cwd);
    let edits = inputs.calls.iter().flat_map(|recorded| &recorded.call.edits);
    edits.filter_map(|edit| Some((spelling.one(&edit.path), edit.ending.clone()?))).collect()
}

/// The files whose whole text an edit in the timeline shows, by their paths from the root of the repository.
pub fn files_shown_whole(inputs: &Inputs) -> BTreeSet<String> {
    let root = inputs.root();
    let spelling = Paths::new(&inputs.cwd, &root);
    let edits = inputs.calls.iter().flat_map(|recorded| &recorded.call.edits);
    edits.filter(|edit| edit.whole && edit.after.is_some()).map(|edit| spelling.one(&edit.path)).collect()
}

/// The files inside the repository that the timeline shows as edited, each once. Formatters may have changed nothing, and
/// count for nothing here.
pub fn edited_files(inputs: &Inputs) -> Vec<String> {
    let spelling = Paths::new(&inputs.cwd, &inputs.cwd);
    let mut files = BTreeSet::new();
    for RecordedCall { call, intents } in &inputs.calls {
        if matches!(call.kind, Kind::Edit | Kind::Write) && call.outcome != Outcome::Error {
            files.extend(call.paths.iter().map(|path| spelling.one(path)));
        }
        let commands = intents.as_ref().map(Intents::commands).unwrap_or_default();
        for command in commands.iter().filter(|command| command.deed() != Deed::Formats) {
            files.extend(command.edits.paths.iter().map(|path| spelling.one(path)));
        }
    }
    files.retain(|path| !path.starts_with('/') && !path.starts_with(".git/"));
    files.into_iter().collect()
}
