//! The report as Markdown: blocks between sentinel comments, which are refreshed in place. What a person wrote around
//! them stays as it is, to the byte.

use std::fmt::Write as _;

use jiff::Timestamp;
use supervise::marker::Marker;

use crate::event::What;
use crate::state::StageState;

use super::figure;
use super::story::{Outcome, StageStory, Story};
use super::words;

/// So many of a kind are listed; a stage can print thousands.
const MOST_MARKERS: usize = 100;

/// Blocks made of what the stages said of their findings: name, heading, the types of markers.
const SAID: &[(&str, &str, &[&str])] = &[
    ("HYPOTHESES", "Hypotheses", &["HYPOTHESIS"]),
    ("METRICS", "Performance Metrics", &["METRIC"]),
    ("FINDINGS", "Key Findings", &["FINDING", "INSIGHT"]),
    ("LIMITATIONS", "Limitations", &["LIMITATION"]),
    ("NEXT_STEPS", "Recommended Next Steps", &["NEXT_STEP"]),
    ("CONCLUSION", "Conclusion", &["CONCLUSION"]),
];

/// The report with its blocks refreshed: `existing` is what the file holds, or nothing yet.
pub(super) fn refreshed(story: &Story, existing: Option<&str>, generated_at: Timestamp) -> String {
    let mut text = match existing {
        Some(existing) => existing.to_owned(),
        None => format!("# {}\n", words::markdown(&story.title)),
    };
    put(&mut text, "EXEC_SUMMARY", &summary(story, generated_at));
    for (name, heading, kinds) in SAID {
        let said: Vec<&Marker> =
            story.markers.iter().filter(|marker| kinds.contains(&marker.kind.as_str())).collect();
        // A block that was there is emptied rather than left with what is no longer true.
        if !said.is_empty() || span(&text, name).is_some() {
            put(&mut text, name, &said_block(heading, &said));
        }
    }
    put(&mut text, "ARTIFACTS", &artifacts(story));
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

fn summary(story: &Story, generated_at: Timestamp) -> String {
    let done = story.stages.iter().filter(|stage| stage.state == StageState::Completed).count();
    let mut text = "## Executive Summary\n\n".to_owned();
    if let Some(goal) = story.markers.iter().find(|marker| marker.kind == "OBJECTIVE") {
        let _ = writeln!(text, "**Research Goal**: {}\n", words::markdown(&goal.text));
    }
    let _ = writeln!(
        text,
        "**Status**: {}, {done} of {} stages completed (run `{}`, {generated_at:.0})",
        story.state.name(),
        story.stages.len(),
        words::code(&story.run)
    );
    text
}

fn said_block(heading: &str, said: &[&Marker]) -> String {
    let mut text = format!("## {heading}\n\n");
    for marker in said.iter().take(MOST_MARKERS) {
        let mut parts: Vec<String> =
            marker.subtype.iter().map(|name| format!("**{}**", words::markdown(name))).collect();
        parts.extend(marker.attributes.iter().map(|(key, value)| match value.as_str() {
            "" => words::markdown(key),
            value => format!("{} = {}", words::markdown(key), words::markdown(value)),
        }));
        let said = words::markdown(&marker.text);
        let _ = match (parts.is_empty(), said.is_empty()) {
            (true, _) => writeln!(text, "- {said}"),
            (false, true) => writeln!(text, "- {}", parts.join(", ")),
            (false, false) => writeln!(text, "- {}: {said}", parts.join(", ")),
        };
    }
    if said.len() > MOST_MARKERS {
        let _ = writeln!(text, "\n*{} more are in the run's events.*", said.len() - MOST_MARKERS);
    }
    text
}

fn artifacts(story: &Story) -> String {
    let mut text = "## Output Files\n\n".to_owned();
    let mut has_any = false;
    let mut pictures = String::new();
    for stage in &story.stages {
        for artifact in &stage.artifacts {
            has_any = true;
            let path = format!("{}/{}/{}", story.run, stage.id, artifact.path);
            let _ =
                writeln!(text, "- `{}` ({})", words::code(&path), text::size_in_words(artifact.size_bytes));
            if figure::media(&artifact.path).is_some() {
                let name = words::markdown(&artifact.path);
                let _ = writeln!(pictures, "\n![{name}]({})", words::link(&path));
            }
        }
    }
    if !has_any {
        text.push_str("None yet.\n");
    }
    text + &pictures
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
                words::markdown(&stage.name()),
                attempt.outcome.name(),
                if stage.is_superseded(attempt) { ", superseded" } else { "" },
                words::duration(attempt.duration())
            );
        }
        if stage.attempts.is_empty() {
            let _ = writeln!(text, "| {} | {} | - |", words::markdown(&stage.name()), stage.state.name());
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
                words::markdown(&stage.name()),
                attempt.number,
                ended(attempt.outcome),
                reason.unwrap_or_default(),
                kept.unwrap_or_default()
            );
        }
        if let (StageState::Blocked, Some(reason)) = (stage.state, &stage.reason) {
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
            "- Resumed: {}. Stages that were done already and not run again: {}.",
            times(story.resumes()),
            reused.len()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let story = Story::default();
        let once = refreshed(&story, Some(&text), Timestamp::UNIX_EPOCH);
        assert_eq!(refreshed(&story, Some(&once), Timestamp::UNIX_EPOCH), once);
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
        };
        let stage = StageStory { artifacts: vec![artifact], ..StageStory::default() };
        let markers = vec![Marker::parse("[METRIC:acc=0.9]").unwrap()];
        let story = Story { stages: vec![stage], markers, ..Story::default() };
        let once = refreshed(&story, None, Timestamp::UNIX_EPOCH);
        assert_eq!(refreshed(&story, Some(&once), Timestamp::UNIX_EPOCH), once);
        insta::assert_snapshot!(once.replace('\u{200b}', "[zero width]"), @r"
        # 

        <!-- GYOSHU:REPORT:EXEC_SUMMARY:BEGIN -->
        ## Executive Summary

        **Status**: PLANNED, 0 of 1 stages completed (run ``, 1970-01-01T00:00:00Z)

        <!-- GYOSHU:REPORT:EXEC_SUMMARY:END -->

        <!-- GYOSHU:REPORT:METRICS:BEGIN -->
        ## Performance Metrics

        - acc = 0.9

        <!-- GYOSHU:REPORT:METRICS:END -->

        <!-- GYOSHU:REPORT:ARTIFACTS:BEGIN -->
        ## Output Files

        - `//a\u{a}<[zero width]!-- GYOSHU:REPORT:ARTIFACTS:END -->\u{a}'b` (1 B)

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
        let text = refreshed(&Story::default(), Some(torn), Timestamp::UNIX_EPOCH);
        assert!(text.starts_with(torn));
        assert_eq!(refreshed(&Story::default(), Some(&text), Timestamp::UNIX_EPOCH), text);
    }
}
