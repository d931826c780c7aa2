//! A turn of a real session, and whether a careful engineer would have wanted the agent held there.

use std::path::Path;

use serde::Deserialize;

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Label {
    pub(super) repo: String,
    pub(super) session: String,
    /// The line of the prompt, or of the record that opens the turn a few lines before it, counted from 1.
    pub(super) line: u64,
    pub(super) label: Wanted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Wanted {
    Hold,
    Pass,
    /// Only something weaker than the project has was run, or nobody can tell: left out of the figures, and counted.
    Borderline,
}

/// Codex opens a turn with records of its own before the prompt.
const OPENING: u64 = 8;

pub(super) fn read(file: &Path) -> Result<Vec<Label>, String> {
    let text = fs_err::read_to_string(file).map_err(|error| error.to_string())?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let label = |(number, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| format!("{}:{}: {error}", file.display(), number + 1))
    };
    lines.map(label).collect()
}

impl Label {
    /// Whether a turn whose prompt is on this line is meant.
    pub(super) fn names(&self, prompt: Option<u64>) -> bool {
        prompt.is_some_and(|line| (self.line..=self.line + OPENING).contains(&line))
    }

    /// Whether the file is the transcript of the session: clients put a date before its id, or nothing.
    pub(super) fn is_of(&self, file: &Path) -> bool {
        file.file_stem().and_then(|stem| stem.to_str()).is_some_and(|stem| stem.ends_with(&self.session))
    }
}
