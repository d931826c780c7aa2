//! The report of a run, made from its events: Markdown whose blocks are refreshed in place, and a page with a chart.

use files::{FileError, Links, atomic_file, regular_file};

mod figure;
mod gantt;
mod html;
mod markdown;
mod story;
mod words;

use std::io;
use std::path::{Path, PathBuf};

use checkpoint::layout::Layout;
use jiff::Timestamp;

use crate::end_of_output;
use crate::record::{self, RecordError};

pub use figure::Figure;
pub use html::Excerpt;
pub use story::{Attempt, Incident, Outcome, Sitting, StageStory, Story};

/// Of what an attempt printed, so much of the end is shown.
const LONGEST_EXCERPT: u64 = 8 * 1024;
/// So much output of attempts is shown, the last ones'.
const MOST_EXCERPTS: usize = 200;

#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    File(#[from] FileError),
}

#[derive(Debug)]
pub struct Report {
    pub story: Story,
    excerpts: Vec<Excerpt>,
    figures: Vec<Figure>,
    /// Pictures that are too large, or too many, for a page.
    figures_left_out: usize,
    generated_at: Timestamp,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportFiles {
    pub markdown: PathBuf,
    pub html: PathBuf,
}

impl Report {
    pub fn of_run(layout: &Layout, now: Timestamp) -> Result<Self, ReportError> {
        let events = record::read_events(&layout.events())?;
        let plan = record::Record::read(&layout.events())?.read_plan(layout.root());
        // A plan that no longer holds, since a file of it is gone, still has its order; without one the events have theirs.
        let order = plan
            .map(|plan| plan.stages.into_iter().map(|stage| (stage.id, stage.goal)).collect())
            .unwrap_or_else(|_| Vec::new());
        let mut story = Story::of(&events, &order);
        story.forget_checkpoints(|id| layout.manifest(id).is_ok_and(|path| path.is_file()));
        let excerpts = excerpts(layout, &story);
        let (figures, figures_left_out) = figure::figures(layout, &story);
        Ok(Self { story, excerpts, figures, figures_left_out, generated_at: now })
    }

    /// The Markdown file with its blocks refreshed.
    pub fn markdown(&self, existing: Option<&str>) -> String {
        markdown::refreshed(&self.story, existing, self.generated_at)
    }

    pub fn html(&self) -> String {
        html::page(self)
    }

    /// Writes `reports/{title}/README.md` and `reports/{title}/{run}/report.html`, each whole or not at all.
    pub fn write(&self, layout: &Layout) -> Result<ReportFiles, ReportError> {
        let html = layout.run_directory().join("report.html");
        let markdown = layout.run_directory().with_file_name("README.md");
        let existing = match regular_file::read(&markdown, Links::Refuse, u64::MAX) {
            Ok(bytes) => Some(String::from_utf8(bytes).map_err(|error| {
                let source = io::Error::new(io::ErrorKind::InvalidData, error.utf8_error());
                FileError::failed("read", &markdown)(source)
            })?),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error.into()),
        };
        write(&markdown, &self.markdown(existing.as_deref()))?;
        write(&html, &self.html())?;
        Ok(ReportFiles { markdown, html })
    }
}

fn write(path: &Path, text: &str) -> Result<(), FileError> {
    if let Some(folder) = path.parent() {
        fs_err::create_dir_all(folder).map_err(FileError::failed("make the folder", folder))?;
    }
    atomic_file::write(path, text.as_bytes(), 0o644)
}

/// The end of what each attempt printed, the last attempts first to be kept.
fn excerpts(layout: &Layout, story: &Story) -> Vec<Excerpt> {
    let mut found: Vec<Excerpt> = story
        .stages
        .iter()
        .flat_map(|stage| stage.attempts.iter().map(move |attempt| (stage, attempt)))
        .flat_map(|(stage, attempt)| [(stage, attempt, false), (stage, attempt, true)])
        .rev()
        .filter_map(|(stage, attempt, is_verification)| {
            let path = match is_verification {
                false => layout.attempt_output(&stage.id, attempt.number),
                true => layout.attempt_verification(&stage.id, attempt.number),
            };
            let (text, before) = end_of_output::end_of(&path.ok()?, LONGEST_EXCERPT).ok()?;
            (!text.is_empty()).then(|| Excerpt {
                stage: stage.id.clone(),
                attempt: attempt.number,
                is_verification,
                text,
                before,
            })
        })
        .take(MOST_EXCERPTS)
        .collect();
    found.reverse();
    found
}
