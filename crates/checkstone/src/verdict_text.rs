//! A verdict as people read it: what was decided and why, what changed, each action with its evidence, observations,
//! and the message.

use std::fmt::Write as _;

use anstyle::Style;
use change_set::Scope;
use gate::{ActionState, ActionVerdict, ChangedCategory, Decision, Observation, Verdict};
use text::{fit, wrap, wrap_behind};
use transcript::{Extent, visible};

use crate::printer::{BAD, DOUBTFUL, FAINT, GOOD, STRONG};

/// Of a category with many files the first ones stand for all.
const FILES_SHOWN: usize = 5;

/// The whole verdict.
pub(crate) fn verdict_text(verdict: &Verdict, width: Option<usize>) -> String {
    let mut text = headline(verdict.decision, verdict.reason.as_str(), width);
    let how = match verdict.scope {
        Some(Scope::TurnBaseline) => "Changed in this turn",
        Some(Scope::Touched) => "Touched in this turn and not committed",
        Some(Scope::Worktree) => "Not committed",
        Some(Scope::Transcript) => "Edited in the transcript",
        None => "Changed",
    };
    section(&mut text, how, verdict.changed.iter().map(|group| changed(group, width)));
    section(&mut text, "Actions", verdict.actions.iter().map(|one| action(one, width)));
    section(&mut text, "Observations", verdict.observations.iter().map(|one| observation(one, width)));
    if let Some(message) = &verdict.message {
        let to = if verdict.decision == Decision::Hold { "the agent" } else { "the person" };
        let _ = writeln!(text, "\n{STRONG}Message to {to}{STRONG:#}");
        quote(&mut text, message, width);
    }
    let _ = writeln!(text, "\n{FAINT}{}{FAINT:#}", wrap(&footing(verdict), 0, width));
    text
}

pub(crate) fn decision(decision: Decision) -> (Style, &'static str) {
    match decision {
        Decision::Pass => (GOOD, "pass"),
        Decision::Notify => (DOUBTFUL, "notify"),
        Decision::Hold => (BAD, "hold"),
    }
}

/// What was decided, and why.
pub(crate) fn headline(decided: Decision, reason: &str, width: Option<usize>) -> String {
    let (style, word) = decision(decided);
    let style = style.bold();
    format!("{style}{word}{style:#}  {}\n", wrap(&visible(reason), word.len() + 2, width))
}

/// A heading and what is below it, where something is.
fn section(text: &mut String, heading: &str, lines: impl Iterator<Item = String>) {
    let lines: String = lines.collect();
    if !lines.is_empty() {
        let _ = write!(text, "\n{STRONG}{heading}{STRONG:#}\n{lines}");
    }
}

fn changed(group: &ChangedCategory, width: Option<usize>) -> String {
    let mut files: Vec<String> = group.files.iter().take(FILES_SHOWN).map(|file| visible(file)).collect();
    if group.files.len() > FILES_SHOWN {
        files.push(format!("… {} more", group.files.len() - FILES_SHOWN));
    }
    let heading = format!("{}: ", visible(&group.category));
    let files = wrap_behind(&heading, &files.join(", "), 4, width);
    format!("  {heading}{files}\n")
}

fn action(action: &ActionVerdict, width: Option<usize>) -> String {
    let (style, mark) = match action.state {
        ActionState::Satisfied => (GOOD, '✓'),
        ActionState::Required => (BAD, '✗'),
        ActionState::Reported | ActionState::Waived => (DOUBTFUL, '–'),
    };
    let id = visible(&action.id);
    let says = wrap_behind(&format!("{id}: "), &explained(action), 4, width);
    format!("  {style}{mark}{style:#} {STRONG}{id}{STRONG:#}: {says}\n")
}

/// The state of an action in words.
pub(crate) fn explained(action: &ActionVerdict) -> String {
    let reason = action.reason.as_deref().map(visible);
    match (action.state, &action.evidence, reason) {
        (ActionState::Satisfied, Some(evidence), _) => {
            let command = fit(&visible(&evidence.command), Some(120));
            match evidence.line {
                Some(line) => format!("done by `{command}` (line {line})"),
                None => format!("done by `{command}`"),
            }
        }
        (ActionState::Satisfied, None, _) => "done".to_owned(),
        (ActionState::Required | ActionState::Reported, _, None) => visible(&action.say),
        (ActionState::Required | ActionState::Reported, _, Some(reason)) => {
            format!("{} ({reason})", visible(&action.say))
        }
        (ActionState::Waived, _, Some(reason)) => format!("waived: {reason}"),
        (ActionState::Waived, _, None) => "waived".to_owned(),
    }
}

fn observation(observation: &Observation, width: Option<usize>) -> String {
    let line = observation.line.map(|line| format!(" (line {line})")).unwrap_or_default();
    let sentence = format!("{}{line}", visible(&observation.text));
    format!("  {DOUBTFUL}!{DOUBTFUL:#} {}\n", wrap(&sentence, 4, width))
}

/// A message beside a bar, which goes on where a line is broken.
pub(crate) fn quote(text: &mut String, message: &str, width: Option<usize>) {
    const INDENT: usize = 4;
    for line in message.lines() {
        let wrapped = wrap(&visible(line), INDENT, width);
        for (place, shown) in wrapped.split('\n').enumerate() {
            let shown = if place == 0 { shown } else { shown.trim_start() };
            let space = if shown.is_empty() { "" } else { " " };
            let _ = writeln!(text, "  {FAINT}│{FAINT:#}{space}{shown}");
        }
    }
}

fn footing(verdict: &Verdict) -> String {
    let coverage = &verdict.coverage;
    let extent = match coverage.extent {
        Extent::Complete => "complete",
        Extent::Truncated => "truncated",
        Extent::Unavailable => "unavailable",
    };
    let mut footing = format!("transcript: {extent}");
    if coverage.records > 0 {
        let _ = write!(footing, ", understood {} of {} records", coverage.understood, coverage.records);
    }
    if let Some(reason) = &coverage.reason {
        let _ = write!(footing, "; {}", visible(reason));
    }
    footing
}
