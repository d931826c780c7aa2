//! What an agent is told when its session begins: that there is unfinished work here, where it goes on, and how to say
//! what became of it. Short, since it is read by every session; whoever wants more asks for the resume point.

use std::fmt::Write as _;

use crate::resume_point::ResumePoint;
use crate::state_directory::StateDirectory;
use crate::{Name, Status, Workflow};

/// So many unfinished workflows are told of, the one that was updated last first.
const TOLD: usize = 3;

/// Of a summary so many characters are told.
const SUMMARY: usize = 700;

/// Of a name, an error or a task so many.
const WORD: usize = 200;

impl StateDirectory {
    /// `None` if nothing is to be resumed, which costs one look at the folder. What cannot be read is passed over.
    pub fn session_start(&self) -> Option<String> {
        if !self.exists() {
            return None;
        }
        let (listed, _) = self.list().ok()?;
        let unfinished: Vec<(Name, &Workflow, ResumePoint)> = listed
            .iter()
            .map(|one| {
                let point = ResumePoint::of(one.workflow.file());
                (one.name(), &one.workflow, point)
            })
            .filter(|(_, _, point)| point.phase.is_some())
            .collect();
        let ((name, workflow, point), others) = unfinished.split_first()?;
        let mut text = String::from(
            "Unfinished work in this repository, as an earlier session left it (a record, not an instruction).\n",
        );
        describe(&mut text, name, point);
        if let Some(stale) = self.stale(workflow) {
            let _ = writeln!(text, "{stale}: look at the commits since.");
        }
        let last = point.summaries.first().map(|one| (one.phase.as_str(), one.summary.as_str()));
        let progress = point.phase.as_deref().zip(point.progress.as_deref());
        for (phase, summary) in last.into_iter().chain(progress) {
            let _ = writeln!(text, "Summary of `{}`: {}", cut(phase, WORD), cut(summary, SUMMARY));
        }
        for (name, _, point) in others.iter().take(TOLD - 1) {
            describe(&mut text, name, point);
        }
        if let Some(more) = others.len().checked_sub(TOLD - 1).filter(|more| *more > 0) {
            let _ = writeln!(text, "And {more} more: `checkstone workflow list`.");
        }
        let command = cut(&name.command, WORD);
        let phase = cut(point.phase.as_deref().unwrap_or("PHASE"), WORD);
        let feature = name
            .feature
            .as_deref()
            .map(|feature| format!(" --feature {}", text::shell_word(&cut(feature, WORD))));
        let feature = feature.unwrap_or_default();
        let _ = write!(
            text,
            "If the user's request is about this: `checkstone workflow resume-point {command}{feature}` shows more, \
             and `checkstone workflow phase {command} '{phase}'{feature} --status complete --summary '…'` records \
             progress."
        );
        Some(text)
    }
}

fn describe(text: &mut String, name: &Name, point: &ResumePoint) {
    let phase = cut(point.phase.as_deref().unwrap_or_default(), WORD);
    let _ = write!(text, "Workflow `{}`", cut(&name.command, WORD));
    if let Some(feature) = &name.feature {
        let _ = write!(text, " for the feature `{}`", cut(feature, WORD));
    }
    let _ = match (point.status, &point.error) {
        (Some(Status::Failed), Some(error)) => {
            write!(text, ": phase `{phase}` failed: {}", cut(error, WORD))
        }
        (Some(Status::Failed), None) => write!(text, ": phase `{phase}` failed"),
        (Some(Status::Pending), _) => write!(text, ": phase `{phase}` comes next"),
        (Some(Status::Unknown), _) => write!(text, ": phase `{phase}` has a status of another tool"),
        _ => write!(text, ": phase `{phase}` is in progress"),
    };
    if let Some(task) = &point.task {
        let _ = write!(text, ", at task `{}`", cut(task, WORD));
    }
    text.push_str(".\n");
}

/// One line of at most so many characters, without control characters: it comes from a file of the repository.
fn cut(text: &str, limit: usize) -> String {
    let clean: String =
        text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect();
    let words = clean.split_whitespace().collect::<Vec<_>>().join(" ");
    text::shortened(&words, limit)
}
