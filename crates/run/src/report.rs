//! The report of a run, made from its events: Markdown whose blocks are refreshed in place, and a page with a chart.

use files::{FileError, Folder, Links, atomic_file, regular_file};

mod comparison;
mod display;
mod figure;
mod gantt;
mod html;
mod markdown;
mod metric;
mod sheet;
mod story;
mod words;

use std::collections::HashMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use checkpoint::layout::Layout;
use jiff::Timestamp;

use crate::end_of_output;
use crate::fingerprint;
use crate::plan::Plan;
use crate::record::{self, RecordError};

pub use comparison::{ComparedRun, ComparedValue, Comparison};
pub use figure::Figure;
pub use gantt::chart;
pub use html::Excerpt;
pub use metric::Metric;
pub use sheet::{Sheet, SheetBody};
pub use story::{AcceptedResult, Attempt, Incident, Outcome, Sitting, StageMarker, StageStory, Story};

/// Of what an attempt printed, so much of the end is shown.
const LONGEST_EXCERPT: u64 = 8 * 1024;
/// So much output of attempts is shown, the last ones'.
const MOST_EXCERPTS: usize = 200;

/// Of a fan-out so many instances show their pictures and tables, or what gathers them would not be found.
const MOST_INSTANCES: usize = 12;
/// The folder beside the stages' own with the pictures that Python stages showed.
const FIGURES: &str = ".figures";

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
    /// Names and values, as the plan and the command line gave them.
    pub parameters: Vec<(String, String)>,
    /// Those of accepted attempts first.
    pub metrics: Vec<Metric>,
    sheets: Vec<Sheet>,
    sheets_left_out: usize,
    excerpts: Vec<Excerpt>,
    figures: Vec<Figure>,
    /// Pictures that are broken, too large, or too many for a page.
    figures_left_out: usize,
    /// From the run's folder, where there is one.
    notebook: Option<String>,
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
        let goals = plan.as_ref().ok().map(Plan::goals);
        let mut story = Story::of(&events, goals.as_deref());
        story.forget_checkpoints(|id| layout.manifest(id).is_ok_and(|path| path.is_file()));
        let (figures, figures_left_out) = figure::figures(layout, &story);
        let (sheets, sheets_left_out) = sheet::sheets(layout, &story);
        let (metrics, unread) = metric::metrics(layout, &story);
        story.warnings.extend(unread);
        let notebook = layout.notebook();
        Ok(Self {
            parameters: plan.map(|plan| plan.parameters()).unwrap_or_default(),
            metrics,
            sheets,
            sheets_left_out,
            excerpts: excerpts(layout, &story),
            figures,
            figures_left_out,
            // The run's folder is three below the root.
            notebook: notebook.is_file().then(|| format!("../../../{}", layout.relative(&notebook))),
            generated_at: now,
            story,
        })
    }

    /// The Markdown file with its blocks refreshed.
    pub fn markdown(&self, existing: Option<&str>) -> String {
        markdown::refreshed(self, existing)
    }

    pub fn html(&self) -> String {
        html::page(self)
    }

    /// Writes `reports/{title}/README.md` and `reports/{title}/{run}/report.html`, each whole or not at all.
    pub fn write(&self, layout: &Layout) -> Result<ReportFiles, ReportError> {
        // Through a link it would be written elsewhere.
        let figures = layout.run_directory().join(FIGURES);
        make_folder(layout, &layout.run_directory())?;
        if self.figures.iter().any(|figure| figure.is_display) {
            make_folder(layout, &figures)?;
        }
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
        for figure in self.figures.iter().filter(|figure| figure.is_display) {
            write(&layout.run_directory().join(&figure.path), &figure.bytes)?;
        }
        write(&markdown, self.markdown(existing.as_deref()).as_bytes())?;
        write(&html, self.html().as_bytes())?;
        Ok(ReportFiles { markdown, html })
    }
}

fn write(path: &Path, content: &[u8]) -> Result<(), FileError> {
    atomic_file::write(path, content, 0o644)
}

/// Below the project's root, without a link on the way.
fn make_folder(layout: &Layout, folder: &Path) -> Result<(), FileError> {
    let mut at = Folder::open(layout.root())?;
    for part in folder.strip_prefix(layout.root()).unwrap_or(folder).components() {
        at = at.folder_made(part)?;
    }
    Ok(())
}

/// The stages whose results count and are shown, and how many files that `is_meant` is true for are of others: instances of a fan-out
/// beyond the first.
fn of_shown_stages(story: &Story, is_meant: impl Fn(&str) -> bool) -> (Vec<&StageStory>, usize) {
    let mut instances: HashMap<&str, usize> = HashMap::new();
    let results = story.stages.iter().filter(|stage| stage.result().is_some());
    let (shown, others): (Vec<&StageStory>, Vec<&StageStory>) = results.partition(|stage| {
        let count = instances.entry(&stage.fan_out).or_default();
        *count += 1;
        stage.fan_out.is_empty() || *count <= MOST_INSTANCES
    });
    let files = others.iter().flat_map(|stage| &stage.artifacts);
    (shown, files.filter(|artifact| is_meant(&artifact.path)).count())
}

/// The beginning of a stage's artifact, up to `most` bytes.
fn artifact_bytes(layout: &Layout, stage: &StageStory, path: &str, most: usize) -> Option<Vec<u8>> {
    let file = fingerprint::open_regular(&layout.published(&stage.id).ok()?.join(path)).ok()?;
    let mut bytes = Vec::new();
    file.take(most as u64).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The same as text, and whether that is all of it.
fn artifact_text(layout: &Layout, stage: &StageStory, path: &str, most: usize) -> Option<(String, bool)> {
    let mut bytes = artifact_bytes(layout, stage, path, most + 1)?;
    let is_whole = bytes.len() <= most;
    bytes.truncate(most);
    Some((String::from_utf8_lossy(&bytes).into_owned(), is_whole))
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
            let path = path.ok()?;
            let (text, before) = end_of_output::end_of(&path, LONGEST_EXCERPT).ok()?;
            let below = path.strip_prefix(layout.run_directory()).ok()?.to_string_lossy().into_owned();
            (!text.is_empty()).then(|| Excerpt {
                stage: stage.name_in(attempt),
                path: below,
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
