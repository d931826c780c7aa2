//! The report as Markdown: blocks between sentinel comments, which are refreshed in place. What a person wrote around
//! them stays as it is, to the byte.

use std::fmt::Write as _;

use supervise::marker::Marker;

use crate::event::What;
use crate::plan::NOTHING_TO_RUN;
use crate::state::StageState;

use super::Report;
use super::metric;
use super::sheet::{Sheet, SheetBody};
use super::story::{Outcome, StageStory, Story};
use super::words;

/// So many of a kind are listed; a stage can print thousands.
pub(super) const MOST_SAID: usize = 100;

/// Blocks made of what the stages said of their findings: name, heading, the types of markers.
pub(super) const SAID: &[(&str, &str, &[&str])] = &[
    ("HYPOTHESES", "Hypotheses", &["HYPOTHESIS"]),
    ("FINDINGS", "Key Findings", &["FINDING", "INSIGHT"]),
    ("LIMITATIONS", "Limitations", &["LIMITATION"]),
    ("NEXT_STEPS", "Recommended Next Steps", &["NEXT_STEP"]),
    ("CONCLUSION", "Conclusion", &["CONCLUSION"]),
];

/// The report with its blocks refreshed: `existing` is what the file holds, or nothing yet.
pub(super) fn refreshed(report: &Report, existing: Option<&str>) -> String {
    let story = &report.story;
    let mut text = match existing {
        Some(existing) => existing.to_owned(),
        None => format!("# {}\n", words::markdown(&story.title)),
    };
    put(&mut text, "EXEC_SUMMARY", &summary(report));
    // A block that was there is emptied rather than left with what is no longer true.
    let mut put_some = |name: &str, is_some: bool, content: &dyn Fn() -> String| {
        if is_some || span(&text, name).is_some() {
            put(&mut text, name, &content());
        }
    };
    put_some("PARAMETERS", !report.parameters.is_empty(), &|| {
        let rows = report.parameters.iter().map(|(name, value)| vec![name.clone(), value.clone()]);
        block("Parameters", &[Sheet::of_rows("", vec!["Parameter", "Value"], rows.collect())], report, 0)
    });
    put_some("METRICS", !report.metrics.is_empty(), &|| {
        block("Performance Metrics", &metric::sheets(story, &report.metrics), report, 0)
    });
    for (name, heading, kinds) in SAID {
        let said = story.said(kinds);
        put_some(name, !said.is_empty(), &|| said_block(heading, &said));
    }
    put_some("TABLES", !report.sheets.is_empty() || report.sheets_left_out > 0, &|| {
        block("Tables", &report.sheets, report, report.sheets_left_out)
    });
    put(&mut text, "ARTIFACTS", &artifacts(report));
    put(&mut text, "EXECUTION_HISTORY", &history(story));
    text
}

fn begin(name: &str) -> String {
    format!("<!-- GYOSHU:REPORT:{name}:BEGIN -->")
}

fn end(name: &str) -> String {
    format!("<!-- GYOSHU:REPORT:{name}:END -->")
}

/// Where a block is, its sentinels included: an end, and the nearest beginning before it.
fn span(text: &str, name: &str) -> Option<(usize, usize)> {
    let (begin, end) = (begin(name), end(name));
    text.match_indices(&end).find_map(|(at, _)| {
        let from = text.get(..at)?.rfind(&begin)?;
        Some((from, at + end.len()))
    })
}

fn put(text: &mut String, name: &str, content: &str) {
    let block = format!("{}\n{content}\n{}", begin(name), end(name));
    match span(text, name) {
        Some((from, to)) => text.replace_range(from..to, &block),
        None => {
            let gap = if text.is_empty() || text.ends_with("\n\n") {
                ""
            } else if text.ends_with('\n') {
                "\n"
            } else {
                "\n\n"
            };
            let _ = writeln!(text, "{gap}{block}");
        }
    }
}

fn summary(report: &Report) -> String {
    let story = &report.story;
    let (done, all) = story.progress();
    let progress = match story.is_nothing_to_run {
        true => NOTHING_TO_RUN.to_owned(),
        false => format!("{done} of {all} stages completed"),
    };
    let mut text = "## Executive Summary\n\n".to_owned();
    if let Some(goal) = story.goal() {
        let _ = writeln!(text, "**Research Goal**: {}\n", words::markdown(goal));
    }
    let _ = writeln!(
        text,
        "**Status**: {}, {progress} (run `{}`, {:.0})",
        story.state.name(),
        words::code(&story.run),
        report.generated_at
    );
    if let Some(started) = story.started_at() {
        let elapsed = words::duration(story.elapsed());
        let _ = writeln!(text, "\n**Started**: {started:.0}, {elapsed} elapsed");
    }
    text
}

fn said_block(heading: &str, said: &[(&Marker, Option<String>)]) -> String {
    let mut text = format!("## {heading}\n\n");
    for (marker, remark) in said.iter().take(MOST_SAID) {
        let remark = remark.as_ref().map(|remark| format!(" ({remark})")).unwrap_or_default();
        let strong = |name: &str| format!("**{}**", words::markdown(name));
        let _ = writeln!(text, "- {}{remark}", words::said(marker, words::markdown, strong));
    }
    if said.len() > MOST_SAID {
        let _ = writeln!(text, "\n*{} more are in the run's events.*", said.len() - MOST_SAID);
    }
    text
}

fn block(heading: &str, sheets: &[Sheet], report: &Report, left_out: usize) -> String {
    let mut text = format!("## {heading}\n");
    for sheet in sheets {
        put_sheet(&mut text, sheet, &report.story.run);
    }
    if left_out > 0 {
        let _ = writeln!(text, "\n*Not shown: {left_out}.*");
    }
    text
}

fn put_sheet(text: &mut String, sheet: &Sheet, run: &str) {
    let name = match &sheet.path {
        Some(path) => Some(linked(run, &format!("{}/{path}", sheet.stage))),
        None => Some(format!("`{}`", words::code(&sheet.stage))).filter(|_| !sheet.stage.is_empty()),
    };
    let left_out = sheet.left_out.as_ref().map(|left_out| words::markdown(left_out));
    let caption: Vec<String> = name.into_iter().chain(left_out).collect();
    if !caption.is_empty() {
        let _ = writeln!(text, "\n{}", caption.join(": "));
    }
    text.push('\n');
    match &sheet.body {
        // Lines that are indented are code, whatever is in them.
        SheetBody::Text(lines) => {
            for line in lines.lines() {
                let _ = writeln!(text, "    {}", words::code(line));
            }
        }
        SheetBody::Rows { header, rows } => {
            let columns = rows.iter().chain([header]).map(Vec::len).max().unwrap_or_default();
            let line = |cells: &[String]| {
                let cells = (0..columns).map(|column| cells.get(column).map_or("", String::as_str));
                let cells: Vec<String> = cells.map(words::markdown).collect();
                format!("| {} |", cells.join(" | "))
            };
            let _ = writeln!(text, "{}\n|{}", line(header), "---|".repeat(columns));
            for row in rows {
                let _ = writeln!(text, "{}", line(row));
            }
        }
    }
}

/// A link to a file below the run's folder, from the folder that the report lies in.
fn linked(run: &str, path: &str) -> String {
    let path = format!("{run}/{path}");
    format!("[`{}`]({})", words::code(&path), words::link(&path))
}

fn artifacts(report: &Report) -> String {
    let story = &report.story;
    let mut text = "## Output Files\n\n".to_owned();
    let mut has_any = false;
    for stage in &story.stages {
        for artifact in &stage.artifacts {
            has_any = true;
            let path = format!("{}/{}", stage.id, artifact.path);
            let size = text::size_in_words(artifact.size_bytes);
            let outdated = stage.outdated_artifacts().map(|why| format!(", {why}")).unwrap_or_default();
            let _ = writeln!(text, "- {} ({size}{outdated})", linked(&story.run, &path));
        }
    }
    if !has_any {
        text.push_str("None yet.\n");
    }
    for figure in &report.figures {
        let name = words::markdown(&figure.path);
        let _ = writeln!(text, "\n![{name}]({})", words::link(&format!("{}/{}", story.run, figure.path)));
    }
    if let Some(notebook) = &report.notebook {
        // The report lies one folder above the run's.
        let link = notebook.strip_prefix("../").unwrap_or(notebook);
        let shown = words::code(notebook.trim_start_matches("../"));
        let _ = writeln!(text, "\nWhat the Python stages did: [`{shown}`]({})", words::link(link));
    }
    text
}

fn history(story: &Story) -> String {
    let mut text =
        "## Execution History\n\n| Stage | Status | Duration |\n|-------|--------|----------|\n".to_owned();
    for stage in &story.stages {
        for attempt in &stage.attempts {
            let sign = if attempt.outcome == Outcome::Completed { "✅" } else { "⚠️" };
            let _ = writeln!(
                text,
                "| {} | {sign} {}{} | {} |",
                words::markdown(&stage.name_in(attempt)),
                attempt.outcome.name(),
                stage.fate(attempt).map(|fate| format!(", {fate}")).unwrap_or_default(),
                words::duration(attempt.duration())
            );
        }
        if stage.attempts.is_empty() {
            let _ = writeln!(text, "| {} | {} | - |", words::markdown(&stage.name()), stage.standing());
        }
    }
    let notes = notes(story);
    if !notes.is_empty() {
        let _ = write!(text, "\n{notes}");
    }
    text
}

fn times(count: usize) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

fn ended(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Running => "is running",
        Outcome::Completed => "completed",
        Outcome::Failed => "failed",
        Outcome::Interrupted => "was interrupted",
        Outcome::Aborted => "was aborted",
        Outcome::Lost => "was lost",
    }
}

/// Interrupts and resumes, one sentence each.
/// So many are in this report; the page has them all.
const MOST_WARNINGS: usize = 20;

fn notes(story: &Story) -> String {
    let mut text = String::new();
    for stage in &story.stages {
        for attempt in &stage.attempts {
            if matches!(attempt.outcome, Outcome::Completed | Outcome::Running) {
                continue;
            }
            let reason = attempt.reason.as_deref().map(|reason| format!(": {}", words::markdown(reason)));
            let kept = attempt.incidents.iter().rev().find_map(|incident| match &incident.what {
                What::Checkpoint { checkpoint_id: id, .. } => {
                    Some(format!("; kept in `{}`", words::code(id)))
                }
                _ => None,
            });
            let _ = writeln!(
                text,
                "- {} attempt {} {}{}{}",
                words::markdown(&stage.name_in(attempt)),
                attempt.number,
                ended(attempt.outcome),
                reason.unwrap_or_default(),
                kept.unwrap_or_default()
            );
        }
        if let (StageState::Blocked, Some(reason), false) = (stage.state, &stage.reason, stage.is_dropped) {
            let _ = writeln!(
                text,
                "- {} is blocked: {}",
                words::markdown(&stage.name()),
                words::markdown(reason)
            );
        }
    }
    let reused: Vec<&StageStory> = story.stages.iter().filter(|stage| stage.reused > 0).collect();
    if story.resumes() > 0 {
        let _ = writeln!(
            text,
            "- Resumed: {}. Stages that were already done and not run again: {}.",
            times(story.resumes()),
            reused.len()
        );
    }
    for warning in story.warnings.iter().take(MOST_WARNINGS) {
        let _ = writeln!(text, "- Warning: {}", words::markdown(warning));
    }
    let more = story.warnings.len().saturating_sub(MOST_WARNINGS);
    if more > 0 {
        let _ = writeln!(text, "- {} more in the HTML report", text::counted(more, "warning"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Metric;

    /// A stage that says `unchecked = true` is warned about in the plan.
    #[test]
    fn warnings_are_shown() {
        let warnings = vec![
            "`S02_train_model` may run for 600 s without a checkpoint (`unchecked = true`)"
                .to_owned();
            22
        ];
        let said = notes(&Story { warnings, ..Story::default() });
        assert_eq!(said.lines().count(), 21);
        assert_eq!(
            said.lines().next(),
            Some(
                "- Warning: \\`S02_train_model\\` may run for 600 s without a checkpoint (\\`unchecked = true\\`)"
            )
        );
        assert_eq!(said.lines().last(), Some("- 2 warnings more in the HTML report"));
    }

    fn report(stages: Vec<StageStory>, metrics: Vec<Metric>) -> Report {
        Report {
            story: Story { stages, ..Story::default() },
            parameters: Vec::new(),
            metrics,
            sheets: Vec::new(),
            sheets_left_out: 0,
            excerpts: Vec::new(),
            figures: Vec::new(),
            figures_left_out: 0,
            notebook: None,
            generated_at: jiff::Timestamp::UNIX_EPOCH,
        }
    }

    /// What a person wrote stays, to the byte, and a second refresh changes nothing.
    #[test]
    fn blocks_are_refreshed_in_place() {
        let mut text = "# Mine\r\n\r\nbefore\n".to_owned();
        put(&mut text, "A", "one");
        text.push_str("\nafter, without a line end");
        put(&mut text, "A", "two\nlines");
        assert_eq!(
            text,
            "# Mine\r\n\r\nbefore\n\n<!-- GYOSHU:REPORT:A:BEGIN -->\ntwo\nlines\n<!-- GYOSHU:REPORT:A:END -->\n\nafter, without a line end"
        );
        let report = report(Vec::new(), Vec::new());
        let once = refreshed(&report, Some(&text));
        assert_eq!(refreshed(&report, Some(&once)), once);
        assert!(once.starts_with(&text), "{once}");
    }

    /// Whatever a file is called, a second refresh changes nothing, and what a marker says of a value is shown.
    #[test]
    fn no_name_breaks_a_block() {
        let artifact = crate::event::AcceptedArtifact {
            path: "a\n<!-- GYOSHU:REPORT:ARTIFACTS:END -->\n`b".to_owned(),
            sha256: String::new(),
            size_bytes: 1,
            identity: String::new(),
            permissions: None,
        };
        let stage = StageStory { artifacts: vec![artifact], ..StageStory::default() };
        let [stage_name, name, value] =
            ["", "acc|<b>", "0.9\n<!-- GYOSHU:REPORT:METRICS:END -->"].map(str::to_owned);
        let metric = Metric { stage: stage_name, parameters: String::new(), name, value, remark: None };
        let report = report(vec![stage], vec![metric]);
        let once = refreshed(&report, None);
        assert_eq!(refreshed(&report, Some(&once)), once);
        insta::assert_snapshot!(once.replace('\u{200b}', "[zero width]"), @r"
        # 

        <!-- GYOSHU:REPORT:EXEC_SUMMARY:BEGIN -->
        ## Executive Summary

        **Status**: PLANNED, 0 of 1 stages completed (run ``, 1970-01-01T00:00:00Z)

        <!-- GYOSHU:REPORT:EXEC_SUMMARY:END -->

        <!-- GYOSHU:REPORT:METRICS:BEGIN -->
        ## Performance Metrics

        | Stage | Metric | Value |
        |---|---|---|
        |  | acc\|&lt;b&gt; | 0.9 &lt;!-- GYOSHU:REPORT:METRICS:END --&gt; |

        <!-- GYOSHU:REPORT:METRICS:END -->

        <!-- GYOSHU:REPORT:ARTIFACTS:BEGIN -->
        ## Output Files

        - [`//a\u{a}<[zero width]!-- GYOSHU:REPORT:ARTIFACTS:END -->\u{a}'b`](//a%0A%3C%21--%20GYOSHU%3AREPORT%3AARTIFACTS%3AEND%20--%3E%0A%60b) (1 B)

        <!-- GYOSHU:REPORT:ARTIFACTS:END -->

        <!-- GYOSHU:REPORT:EXECUTION_HISTORY:BEGIN -->
        ## Execution History

        | Stage | Status | Duration |
        |-------|--------|----------|
        |  | PENDING | - |

        <!-- GYOSHU:REPORT:EXECUTION_HISTORY:END -->
        ");
    }

    /// A begin without its end is a person's own text: a new block is put after it.
    #[test]
    fn a_block_that_was_torn_is_left_alone() {
        let torn = "<!-- GYOSHU:REPORT:ARTIFACTS:BEGIN -->\nmine\n";
        let report = report(Vec::new(), Vec::new());
        let text = refreshed(&report, Some(torn));
        assert!(text.starts_with(torn));
        assert_eq!(refreshed(&report, Some(&text)), text);
    }
}
