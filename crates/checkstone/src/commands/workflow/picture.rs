//! A workflow on the terminal: one line per phase with a bar where it lay in time, then what the phases came to.

use std::fmt::Write as _;

use jiff::Timestamp;
use text::{Cell, Column, Table, fit, short_duration, wrap};
use transcript::visible;
use unicode_width::UnicodeWidthStr as _;
use workflow::{Name, Phase, ResumePoint, Status, Workflow};

use super::next_sentence;
use crate::printer::{BAD, DOUBTFUL, FAINT, GOOD, STRONG};

/// Where nobody watches, the picture is as wide as this.
const WIDTH: usize = 90;

const LONGEST_NAME: usize = 24;

/// From when to when.
type Span = (Timestamp, Timestamp);

pub(super) fn of(name: &Name, workflow: &Workflow, now: Timestamp, width: Option<usize>) -> String {
    let file = workflow.file();
    let mut text = format!("{STRONG}{}{STRONG:#}", visible(&name.to_string()));
    let next = next_sentence(&ResumePoint::of(file), workflow.is_complete());
    let _ = write!(text, ": {next}");
    if let Some(task) = &file.state.current_task {
        let _ = write!(text, ", task {}", visible(task));
    }
    text.push('\n');
    let times =
        [("started", &file.started_at), ("updated", &file.updated_at), ("complete", &file.completed_at)];
    let told: Vec<String> = times
        .iter()
        .filter_map(|(word, at)| {
            let at: Timestamp = at.as_deref()?.parse().ok()?;
            Some(format!("{word} {}", at.strftime("%Y-%m-%d %H:%M UTC")))
        })
        .collect();
    let _ = writeln!(text, "{FAINT}{}{FAINT:#}\n", told.join(", "));
    rows(&mut text, workflow, now, width.unwrap_or(WIDTH));
    for (phase, details) in &file.phases {
        let said = details.error.as_ref().filter(|_| details.status == Status::Failed);
        for (words, style) in [(said, BAD), (details.context_summary.as_ref(), FAINT)] {
            let Some(words) = words else { continue };
            let words = wrap(&visible(&words.split_whitespace().collect::<Vec<_>>().join(" ")), 2, width);
            let _ = writeln!(text, "\n{style}{}{style:#}\n  {words}", visible(phase));
        }
    }
    let record = workflow.issue_record();
    if let Some(issue) = &record.issue {
        let url = record.url.as_ref().map(|url| format!(" {}", visible(url))).unwrap_or_default();
        let _ = writeln!(text, "\nissue: {STRONG}{}{STRONG:#}{url}", visible(issue));
    }
    if !record.unsent.is_empty() {
        let news =
            record.unsent.iter().map(|phase| phase.as_deref().map_or_else(|| "the end".to_owned(), visible));
        let _ = writeln!(text, "  {BAD}not sent yet:{BAD:#} {}", news.collect::<Vec<_>>().join(", "));
    }
    if let Some(gate) = &file.gate {
        let (style, word) = if gate.ship_allowed { (GOOD, "may be shipped") } else { (BAD, "blocked") };
        let _ = writeln!(text, "\ngate: {style}{word}{style:#}");
        for blocker in &gate.blockers {
            let _ = writeln!(text, "  - {}", wrap(&visible(blocker), 4, width));
        }
    }
    text
}

/// When a phase was under way; `None` if its file does not tell, or a clock went back meanwhile.
fn span(phase: &Phase, now: Timestamp) -> Option<Span> {
    let start: Timestamp = phase.started_at.as_deref()?.parse().ok()?;
    let end = match phase.status {
        Status::InProgress => now,
        _ => phase.updated_at.as_deref()?.parse().ok()?,
    };
    (start <= end).then_some((start, end))
}

fn rows(text: &mut String, workflow: &Workflow, now: Timestamp, width: usize) {
    let file = workflow.file();
    let to_come = file.state.pending_phases.iter().filter(|name| file.phase(name).is_none());
    let pending = || Status::Pending.to_string();
    let phases: Vec<(&str, Status, String, Option<Span>)> = file
        .phases
        .iter()
        .map(|(name, phase)| (name.as_str(), phase.status, phase.status_in_words(), span(phase, now)))
        .chain(to_come.map(|name| (name.as_str(), Status::Pending, pending(), None)))
        .collect();
    let spans = || phases.iter().filter_map(|(.., span)| *span);
    let scale = spans().map(|span| span.0).min().zip(spans().map(|span| span.1).max());
    let shown: Vec<String> =
        phases.iter().map(|(name, ..)| fit(&visible(name), Some(LONGEST_NAME))).collect();
    let name_width = shown.iter().map(|name| name.width()).max().unwrap_or(0);
    // Mark, name, status and duration stand before the bar.
    let room = width.saturating_sub(name_width + 28).clamp(10, 60);
    let mark = Column::left(0).gap(1);
    let mut table = Table::new([mark, Column::left(0), Column::left(11), Column::right(7), Column::left(0)]);
    for ((_, status, word, span), name) in phases.iter().zip(shown) {
        let (mark, style) = match status {
            Status::Complete => ("  ✓", GOOD),
            Status::Failed => ("  ✗", BAD),
            Status::InProgress => ("  ▶", DOUBTFUL),
            Status::Skipped => ("  -", FAINT),
            Status::Pending => ("  ·", FAINT),
            Status::Unknown => ("  ?", DOUBTFUL),
        };
        let lasted = span
            .map(|(start, end)| short_duration(end.duration_since(start).unsigned_abs()))
            .unwrap_or_default();
        let bar = scale.zip(*span).map(|(scale, span)| bar(scale, span, room)).unwrap_or_default();
        let (mark, bar) = (Cell::styled(mark, style), Cell::styled(bar, style));
        table.row([mark, name.into(), visible(word).into(), lasted.into(), bar]);
    }
    text.push_str(&table.lines(None));
}

/// The part of the whole time, at least one column wide.
fn bar(scale: Span, span: Span, room: usize) -> String {
    let whole = scale.1.duration_since(scale.0).as_secs_f64().max(0.001);
    let column = |at: Timestamp| {
        let part = at.duration_since(scale.0).as_secs_f64() / whole;
        (part * room as f64).round().clamp(0.0, room as f64) as usize
    };
    let start = column(span.0).min(room.saturating_sub(1));
    let end = column(span.1).max(start + 1);
    format!("{}{}", " ".repeat(start), "█".repeat(end - start))
}
