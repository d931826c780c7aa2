//! A verdict as people read it: what was decided and why, what changed, each action with its evidence, observations,
//! and the message.

use std::fmt::Write as _;

use anstyle::Style;
use change_set::Scope;
use gate::{ActionState, ActionVerdict, Decision, Verdict};
use text::{fit, wrap, wrap_behind};
use transcript::{Extent, visible};

use crate::printer::{BAD, DOUBTFUL, FAINT, GOOD, STRONG};

/// Of a category with many files the first ones stand for all.
const FILES_SHOWN: usize = 5;

/// The whole verdict.
pub(crate) fn verdict_text(verdict: &Verdict, width: Option<usize>) -> String {
    let mut text = String::new();
    let (style, word) = decision(verdict.decision);
    let style = style.bold();
    let _ =
        writeln!(text, "{style}{word}{style:#}  {}", wrap(&visible(&verdict.reason), word.len() + 2, width));
    changed(&mut text, verdict, width);
    actions(&mut text, verdict, width);
    observations(&mut text, verdict, width);
    message(&mut text, verdict, width);
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

fn changed(text: &mut String, verdict: &Verdict, width: Option<usize>) {
    if verdict.changed.is_empty() {
        return;
    }
    let how = match verdict.scope {
        Some(Scope::TurnBaseline) => "Changed in this turn",
        Some(Scope::Touched) => "Touched in this turn and not committed",
        Some(Scope::Worktree) => "Not committed",
        Some(Scope::Transcript) => "Edited in the transcript",
        None => "Changed",
    };
    let _ = writeln!(text, "\n{STRONG}{how}{STRONG:#}");
    for group in &verdict.changed {
        let mut files: Vec<String> = group.files.iter().take(FILES_SHOWN).map(|file| visible(file)).collect();
        if group.files.len() > FILES_SHOWN {
            files.push(format!("… {} more", group.files.len() - FILES_SHOWN));
        }
        let category = visible(&group.category);
        let heading = format!("{category}: ");
        let files = wrap_behind(&heading, &files.join(", "), 4, width);
        let _ = writeln!(text, "  {heading}{files}");
    }
}

fn actions(text: &mut String, verdict: &Verdict, width: Option<usize>) {
    if verdict.actions.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{STRONG}Actions{STRONG:#}");
    for action in &verdict.actions {
        let (style, mark) = match action.state {
            ActionState::Satisfied => (GOOD, '✓'),
            ActionState::Required => (BAD, '✗'),
            ActionState::Reported | ActionState::Waived => (DOUBTFUL, '–'),
        };
        let id = visible(&action.id);
        let says = wrap_behind(&format!("{id}: "), &explained(action), 4, width);
        let _ = writeln!(text, "  {style}{mark}{style:#} {STRONG}{id}{STRONG:#}: {says}");
    }
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

fn observations(text: &mut String, verdict: &Verdict, width: Option<usize>) {
    if verdict.observations.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{STRONG}Observations{STRONG:#}");
    for observation in &verdict.observations {
        let line = observation.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        let sentence = format!("{}{line}", visible(&observation.text));
        let _ = writeln!(text, "  {DOUBTFUL}!{DOUBTFUL:#} {}", wrap(&sentence, 4, width));
    }
}

fn message(text: &mut String, verdict: &Verdict, width: Option<usize>) {
    let Some(message) = &verdict.message else { return };
    let to = if verdict.decision == Decision::Hold { "the agent" } else { "the person" };
    let _ = writeln!(text, "\n{STRONG}Message to {to}{STRONG:#}");
    quote(text, message, width);
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
