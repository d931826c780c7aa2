//! The report as one page that stands alone: no script, nothing fetched, light and dark. Every text in it comes from
//! plans, stages and their output, so every text is escaped.

use std::fmt::Write as _;

use jiff::Timestamp;

use super::Report;
use super::gantt;
use super::story::{Outcome, StageStory, Story};
use super::words;
use crate::event::What;

const PAGE: &str = include_str!("page.html");

/// What an attempt printed last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excerpt {
    pub stage: String,
    pub attempt: u32,
    /// Printed by its `verify`, and not by the stage itself.
    pub is_verification: bool,
    pub text: String,
    /// Bytes that were printed before it.
    pub before: u64,
}

pub(super) fn page(report: &Report) -> String {
    let Report { story, excerpts, generated_at, .. } = report;
    let mut body = facts(story, *generated_at);
    let _ = write!(body, "<div class=\"chart\">\n{}</div>\n{}", gantt::chart(story), legend());
    stages(&mut body, story);
    figures(&mut body, report);
    artifacts(&mut body, story);
    if !story.warnings.is_empty() {
        body.push_str("<h2>Warnings</h2>\n<ul>\n");
        for warning in &story.warnings {
            let _ = writeln!(body, "<li>{}</li>", text::html_text(warning));
        }
        body.push_str("</ul>\n");
    }
    output(&mut body, excerpts);
    // The texts go in last, so that a title with braces in it changes nothing.
    let mut page = String::new();
    let mut rest = PAGE;
    while let Some((before, (name, after))) =
        rest.split_once("{{").and_then(|(before, after)| Some((before, after.split_once("}}")?)))
    {
        page.push_str(before);
        match name {
            "title" => page.push_str(&text::html_text(&story.title)),
            "run" => page.push_str(&text::html_text(&story.run)),
            _ => page.push_str(&body),
        }
        rest = after;
    }
    page.push_str(rest);
    page
}

fn facts(story: &Story, generated_at: Timestamp) -> String {
    let attempts = || story.stages.iter().flat_map(|stage| &stage.attempts);
    let completed = story.stages.iter().filter(|stage| outcome(stage) == Some(Outcome::Completed)).count();
    let broken = attempts()
        .filter(|attempt| !matches!(attempt.outcome, Outcome::Completed | Outcome::Running))
        .count();
    let busy = story.sittings.iter().fold(jiff::SignedDuration::ZERO, |sum, sitting| {
        sum + sitting.ended.duration_since(sitting.began).max(jiff::SignedDuration::ZERO)
    });
    let mut text = "<dl class=\"facts\">".to_owned();
    for (name, value) in [
        ("state", story.state.name().to_lowercase().replace('_', " ")),
        ("stages", format!("{completed} of {}", story.stages.len())),
        ("attempts", attempts().count().to_string()),
        ("broken off", broken.to_string()),
        ("resumed", story.resumes().to_string()),
        ("time in hand", words::duration(busy)),
        ("as of", format!("{generated_at:.0}")),
    ] {
        let _ = write!(text, "<div><dt>{name}</dt><dd>{}</dd></div>", text::html_text(&value));
    }
    text.push_str("</dl>\n");
    text
}

fn legend() -> String {
    let mut text = "<div class=\"legend\">".to_owned();
    for outcome in Outcome::ALL {
        let _ = write!(text, "<span><i class=\"{outcome}\"></i>{outcome}</span>");
    }
    for (tone, told) in [
        ("completed", "checkpoint"),
        ("failed", "signal"),
        ("interrupted", "stall"),
        ("running", "suspended"),
    ] {
        let _ = write!(text, "<span><i class=\"dot {tone}\"></i>{told}</span>");
    }
    text.push_str("</div>\n");
    text
}

fn outcome(stage: &StageStory) -> Option<Outcome> {
    stage.attempts.last().map(|attempt| attempt.outcome)
}

fn stages(body: &mut String, story: &Story) {
    body.push_str(
        "<h2>Stages</h2>\n<div class=\"scroll\"><table id=\"stages\"><thead><tr><th>Stage</th><th>Attempt</th><th>Outcome</th><th class=\"number\">Duration</th><th>What happened</th></tr></thead><tbody>\n",
    );
    for stage in &story.stages {
        for attempt in &stage.attempts {
            let mut happened: Vec<String> =
                attempt.reason.iter().map(|reason| text::html_text(reason)).collect();
            if stage.is_superseded(attempt) {
                happened.push("superseded by a later attempt".to_owned());
            }
            for incident in &attempt.incidents {
                happened.push(match &incident.what {
                    What::Signal { signal, .. } => format!("sent {}", text::html_text(signal)),
                    What::Stall { signal, .. } => format!("stalled: {}", text::html_text(signal)),
                    What::Suspended { milliseconds, .. } => format!("suspended for {milliseconds} ms"),
                    What::Checkpoint { checkpoint_id: id, status, .. } => {
                        format!(
                            "checkpoint <code>{}</code> ({})",
                            text::html_text(id),
                            text::html_text(status)
                        )
                    }
                    _ => continue,
                });
            }
            let _ = writeln!(
                body,
                "<tr><td class=\"id\"><code>{}</code></td><td>{}</td><td class=\"state {outcome}\">{outcome}</td><td class=\"number\">{}</td><td>{}</td></tr>",
                text::html_text(&stage.name()),
                attempt.number,
                words::duration(attempt.duration()),
                happened.join(" · "),
                outcome = attempt.outcome
            );
        }
        if stage.attempts.is_empty() {
            let _ = writeln!(
                body,
                "<tr><td class=\"id\"><code>{}</code></td><td>–</td><td class=\"state lost\">{}</td><td></td><td>{}</td></tr>",
                text::html_text(&stage.name()),
                stage.state.name().to_lowercase(),
                text::html_text(stage.reason.as_deref().unwrap_or_default())
            );
        }
    }
    body.push_str("</tbody></table></div>\n");
}

fn figures(body: &mut String, report: &Report) {
    if report.figures.is_empty() && report.figures_left_out == 0 {
        return;
    }
    body.push_str("<h2>Pictures</h2>\n");
    for figure in &report.figures {
        let stage = text::html_text(&figure.stage);
        let caption = match &figure.path {
            Some(path) => format!("<code>{stage}/{}</code>", text::html_text(path)),
            None => format!("shown by <code>{stage}</code>"),
        };
        let _ = writeln!(
            body,
            "<figure><img src=\"data:{};base64,{}\" alt=\"\"><figcaption>{caption}</figcaption></figure>",
            figure.media, figure.base64
        );
    }
    if report.figures_left_out > 0 {
        let left_out = text::counted(report.figures_left_out, "picture");
        let _ = writeln!(
            body,
            "<p class=\"faint\">Not shown, since the page would be too large: {left_out}.</p>"
        );
    }
}

fn artifacts(body: &mut String, story: &Story) {
    body.push_str("<h2>Artifacts</h2>\n");
    if story.stages.iter().all(|stage| stage.artifacts.is_empty()) {
        body.push_str("<p class=\"faint\">None yet.</p>\n");
        return;
    }
    body.push_str(
        "<div class=\"scroll\"><table id=\"artifacts\"><thead><tr><th>Stage</th><th>File</th><th class=\"number\">Size</th><th>SHA-256</th></tr></thead><tbody>\n",
    );
    for stage in &story.stages {
        for artifact in &stage.artifacts {
            let _ = writeln!(
                body,
                "<tr><td class=\"id\"><code>{}</code></td><td><code>{}</code></td><td class=\"number\">{}</td><td><code title=\"{}\">{}…</code></td></tr>",
                text::html_text(&stage.name()),
                text::html_text(&artifact.path),
                text::size_in_words(artifact.size_bytes),
                text::html_text(&artifact.sha256),
                text::html_text(artifact.sha256.get(..12).unwrap_or(&artifact.sha256))
            );
        }
    }
    body.push_str("</tbody></table></div>\n");
}

fn output(body: &mut String, excerpts: &[Excerpt]) {
    body.push_str("<h2>Output</h2>\n");
    if excerpts.is_empty() {
        body.push_str("<p class=\"faint\">Nothing was printed.</p>\n");
    }
    for excerpt in excerpts {
        let before = match excerpt.before {
            0 => String::new(),
            bytes => format!(" <span class=\"faint\">(after {} more)</span>", text::size_in_words(bytes)),
        };
        let _ = writeln!(
            body,
            "<details><summary><code>{}</code> attempt {}{}{before}</summary><pre>{}</pre></details>",
            text::html_text(&excerpt.stage),
            excerpt.attempt,
            if excerpt.is_verification { ", <code>verify</code>" } else { "" },
            text::html_text(&excerpt.text)
        );
    }
}
