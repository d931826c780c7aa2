//! The report for people at a terminal.

use std::fmt::Write as _;

use jiff::Timestamp;
use stop::replay::Report;
use stop::{Counts, Statistics};
use text::{Cell, Column, Table, counted, fit, wrap};
use transcript::visible;

use crate::home_relative::home_relative;
use crate::printer::{BAD, DOUBTFUL, FAINT, GOOD, STRONG};

/// So many of the last holds are listed; `--json` and `--html` have all.
const HOLDS_SHOWN: usize = 20;

/// So many reasons say what most turns were about.
const REASONS_SHOWN: usize = 8;

const WIDEST_BAR: u64 = 30;

pub(crate) fn table(report: &Report, width: Option<usize>) -> String {
    let mut text = String::new();
    let turns = &report.statistics.turns;
    let _ = writeln!(
        text,
        "{STRONG}{} in {}{STRONG:#} ({:.1} MB)",
        counted(as_count(turns.total), "turn"),
        counted(as_count(report.totals.sessions), "session"),
        report.totals.bytes as f64 / 1e6,
    );
    verdicts(&mut text, turns, "would have been held");
    projects(&mut text, &report.statistics, width);
    rules(&mut text, report);
    actions(&mut text, report);
    held_then(&mut text, report, width);
    holds(&mut text, report, width);
    for (heading, reasons) in
        [("Not held because", &report.reasons), ("Not judged because", &report.not_judged)]
    {
        if reasons.is_empty() {
            continue;
        }
        let _ = writeln!(text, "\n{STRONG}{heading}{STRONG:#}");
        for reason in reasons.iter().take(REASONS_SHOWN) {
            let _ = writeln!(text, "  {:>6}  {}", reason.turns, wrap(&visible(&reason.reason), 10, width));
        }
    }
    for file in &report.unread {
        let sentence = format!("{}: {}", home_relative(file.path.as_ref()), visible(&file.reason));
        let _ = writeln!(text, "\n{DOUBTFUL}not read{DOUBTFUL:#} {}", wrap(&sentence, 9, width));
    }
    text
}

/// How many turns had which verdict.
pub(super) fn verdicts(text: &mut String, turns: &Counts, held: &str) {
    for (count, style, words) in [
        (turns.hold, BAD, held),
        (turns.notify, DOUBTFUL, "reported to the person"),
        (turns.pass, GOOD, "passed silently"),
        (turns.not_judged, FAINT, "not judged"),
    ] {
        let _ = writeln!(text, "  {style}{count:>6}{style:#}  {words}");
    }
}

/// The same by project, if there are several.
pub(super) fn projects(text: &mut String, statistics: &Statistics, width: Option<usize>) {
    if statistics.projects.len() < 2 {
        return;
    }
    let _ = writeln!(text, "\n{STRONG}Projects{STRONG:#} (turns: held, reported, passed, not judged)");
    let number = Column::right(6).gap(1);
    let mut table = Table::new([number, number, number, number.gap(2), Column::left(0)]);
    for count in &statistics.projects {
        let Counts { hold, notify, pass, not_judged, .. } = count.turns;
        let folder = count.project.as_deref();
        let folder = folder.map_or_else(|| "not known".to_owned(), |folder| home_relative(folder.as_ref()));
        table.row([
            Cell::styled(hold.to_string(), BAD),
            Cell::styled(notify.to_string(), DOUBTFUL),
            Cell::styled(pass.to_string(), GOOD),
            not_judged.to_string().into(),
            visible(&folder).into(),
        ]);
    }
    text.push_str(&table.lines(width));
}

fn rules(text: &mut String, report: &Report) {
    if report.rules.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{STRONG}Rules{STRONG:#} (turns held, turns reported)");
    let most = report.rules.iter().map(|count| count.hold + count.notify).max().unwrap_or(1);
    let number = Column::right(6);
    let mut table = Table::new([Column::left(20).gap(1), number.gap(1), number, Column::left(0)]);
    for count in &report.rules {
        let (held, told) = (bar(count.hold, most, "▇"), bar(count.notify, most, "░"));
        table.row([
            format!("  {}", count.rule.name()).into(),
            count.hold.to_string().into(),
            count.notify.to_string().into(),
            format!("{BAD}{held}{BAD:#}{DOUBTFUL}{told}{DOUBTFUL:#}").into(),
        ]);
    }
    text.push_str(&table.lines(None));
}

/// Of this sign, so that two bars differ without their colours too.
fn bar(count: u64, most: u64, sign: &str) -> String {
    let length = (count * WIDEST_BAR).div_ceil(most.max(1));
    sign.repeat(as_count(length))
}

fn actions(text: &mut String, report: &Report) {
    if report.actions.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{STRONG}Actions{STRONG:#} (turns: missing, done, waived)");
    let number = Column::right(6).gap(1);
    let mut table = Table::new([Column::left(20).at_most(20).gap(1), number, number, number]);
    for count in &report.actions {
        table.row([
            format!("  {}", visible(&count.action)).into(),
            Cell::styled(count.required.to_string(), BAD),
            Cell::styled(count.satisfied.to_string(), GOOD),
            count.waived.to_string().into(),
        ]);
    }
    text.push_str(&table.lines(None));
}

fn held_then(text: &mut String, report: &Report, width: Option<usize>) {
    let held = &report.held_then;
    if held.turns > 0 {
        let sentence = format!(
            "{} held when {} took place; in {} of these, what was missing ran after the hold. This policy would hold {}.",
            counted(as_count(held.turns), "turn") + if held.turns == 1 { " was" } else { " were" },
            if held.turns == 1 { "it" } else { "they" },
            report.statistics.turns.then_tested,
            held.hold_now
        );
        let _ = writeln!(text, "\n{}", wrap(&sentence, 0, width));
    }
}

fn holds(text: &mut String, report: &Report, width: Option<usize>) {
    if report.holds.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n{STRONG}Would have been held{STRONG:#}");
    let left_out = report.holds.len().saturating_sub(HOLDS_SHOWN);
    if left_out > 0 {
        let _ =
            writeln!(text, "  {FAINT}… {left_out} earlier ones; `--html FILE` or `--json` has all{FAINT:#}");
    }
    for hold in report.holds.iter().skip(left_out) {
        let _ = writeln!(
            text,
            "  {FAINT}{:<16}{FAINT:#} {:<6} {BAD}{}{BAD:#}{}",
            when(hold.started_at),
            hold.agent.name(),
            wrap(&visible(hold.verdict.reason.as_str()), 26, width),
            if hold.held_then { " (as it was then)" } else { "" },
        );
        let room = width.map(|width| width.saturating_sub(28));
        let _ = writeln!(text, "{:26}{FAINT}›{FAINT:#} {}", "", fit(&visible(&hold.prompt), room));
        let _ = writeln!(text, "{:26}{FAINT}{}{FAINT:#}", "", place(&hold.transcript, hold.line));
    }
}

/// To the minute, as recorded: clients write UTC.
pub(super) fn when(started_at: Option<Timestamp>) -> String {
    started_at.map(|time| time.strftime("%Y-%m-%d %H:%M").to_string()).unwrap_or_default()
}

/// The transcript, and the line of the prompt in it.
pub(super) fn place(transcript: &str, line: Option<u64>) -> String {
    let path = home_relative(transcript.as_ref());
    line.map_or(path.clone(), |line| format!("{path}:{line}"))
}

fn as_count(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
