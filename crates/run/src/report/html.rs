//! The report as one page that stands alone: no script, nothing fetched, light and dark, on a phone too. Every text in it
//! comes from plans, stages and their output, so every text is escaped; files are linked by paths relative to the page.

use std::fmt::Write as _;

use super::Report;
use super::gantt;
use super::markdown::{MOST_SAID, SAID};
use super::metric;
use super::sheet::{Sheet, SheetBody};
use super::story::{Attempt, Outcome, StageStory, Story};
use super::words;
use crate::event::What;
use crate::plan::NOTHING_TO_RUN;

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
    /// The file with all that is kept of it, below the run's folder.
    pub path: String,
}

pub(super) fn page(report: &Report) -> String {
    let story = &report.story;
    let mut body = String::new();
    if let Some(goal) = story.goal() {
        let _ = writeln!(body, "<p>{}</p>", text::html_text(goal));
    }
    facts(&mut body, report);
    parameters(&mut body, report);
    let metrics = metric::sheets(story, &report.metrics);
    section(&mut body, "Metrics", &metrics, 0, sheet);
    said(&mut body, story);
    section(&mut body, "Pictures", &report.figures, report.figures_left_out, |body, figure| {
        let stage = text::html_text(&figure.stage);
        let (link, path) = (words::link(&figure.path), text::html_text(&figure.path));
        let caption = match figure.is_display {
            true => format!("shown by <code>{stage}</code>"),
            false => format!("<a href=\"{link}\"><code>{path}</code></a>"),
        };
        let _ = writeln!(
            body,
            "<figure><img src=\"data:{};base64,{}\" alt=\"{path}\"><figcaption>{caption}</figcaption></figure>",
            figure.media,
            text::base64(&figure.bytes)
        );
    });
    section(&mut body, "Tables", &report.sheets, report.sheets_left_out, sheet);
    let _ =
        write!(body, "<h2>Stages</h2>\n<div class=\"chart\">\n{}</div>\n{}", gantt::chart(story), legend());
    stages(&mut body, story);
    artifacts(&mut body, report);
    if !story.warnings.is_empty() {
        body.push_str("<h2>Warnings</h2>\n<ul>\n");
        for warning in &story.warnings {
            let _ = writeln!(body, "<li>{}</li>", text::html_text(warning));
        }
        body.push_str("</ul>\n");
    }
    output(&mut body, &report.excerpts);
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

fn facts(body: &mut String, report: &Report) {
    let story = &report.story;
    let attempts = || story.stages.iter().flat_map(|stage| &stage.attempts);
    let (completed, all) = story.progress();
    let broken = attempts()
        .filter(|attempt| !matches!(attempt.outcome, Outcome::Completed | Outcome::Running))
        .count();
    body.push_str("<dl class=\"facts\">");
    for (name, value) in [
        ("state", story.state.name().to_lowercase().replace('_', " ")),
        (
            "stages",
            if story.is_nothing_to_run { NOTHING_TO_RUN.to_owned() } else { format!("{completed} of {all}") },
        ),
        ("started", story.started_at().map(|at| format!("{at:.0}")).unwrap_or_default()),
        ("elapsed", words::duration(story.elapsed())),
        ("attempts", attempts().count().to_string()),
        ("unsuccessful", broken.to_string()),
        ("resumed", story.resumes().to_string()),
        ("as of", format!("{:.0}", report.generated_at)),
    ] {
        let _ = write!(body, "<div><dt>{name}</dt><dd>{}</dd></div>", text::html_text(&value));
    }
    body.push_str("</dl>\n");
}

fn parameters(body: &mut String, report: &Report) {
    if report.parameters.is_empty() {
        return;
    }
    body.push_str("<h2>Parameters</h2>\n<dl class=\"facts\" id=\"parameters\">");
    for (name, value) in &report.parameters {
        let (name, value) = (text::html_text(name), text::html_text(value));
        let _ = write!(body, "<div><dt><code>{name}</code></dt><dd><code>{value}</code></dd></div>");
    }
    body.push_str("</dl>\n");
}

/// What the stages said of their findings, in the order in which a paper has it.
fn said(body: &mut String, story: &Story) {
    for (_, heading, kinds) in SAID {
        let said = story.said(kinds);
        if said.is_empty() {
            continue;
        }
        let _ = writeln!(body, "<h2>{heading}</h2>\n<ul>");
        for (marker, remark) in said.iter().take(MOST_SAID) {
            let remark = remark.iter().map(|remark| format!(" <span class=\"faint\">({remark})</span>"));
            let strong = |name: &str| format!("<b>{}</b>", text::html_text(name));
            let text = words::said(marker, text::html_text, strong);
            let _ = writeln!(body, "<li>{text}{}</li>", remark.collect::<String>());
        }
        body.push_str("</ul>\n");
        if said.len() > MOST_SAID {
            let more = said.len() - MOST_SAID;
            let _ = writeln!(body, "<p class=\"faint\">{more} more are in the run's events.</p>");
        }
    }
}

fn section<Item>(
    body: &mut String,
    heading: &str,
    items: &[Item],
    left_out: usize,
    put: impl Fn(&mut String, &Item),
) {
    if items.is_empty() && left_out == 0 {
        return;
    }
    let _ = writeln!(body, "<h2>{heading}</h2>");
    for item in items {
        put(body, item);
    }
    if left_out > 0 {
        let _ = writeln!(
            body,
            "<p class=\"faint\">Not shown, since they are broken, too large or too many: {left_out}.</p>"
        );
    }
}

fn sheet(body: &mut String, sheet: &Sheet) {
    let caption = match &sheet.path {
        Some(path) => {
            let path = format!("{}/{path}", sheet.stage);
            Some(format!("<a href=\"{}\"><code>{}</code></a>", words::link(&path), text::html_text(&path)))
        }
        None => Some(format!("<code>{}</code>", text::html_text(&sheet.stage)))
            .filter(|_| !sheet.stage.is_empty()),
    };
    let left_out = sheet.left_out.iter().map(|left_out| text::html_text(left_out));
    let caption: Vec<String> = caption.into_iter().chain(left_out).collect();
    let (open, close) = match (caption.is_empty(), sheet.is_of_instance) {
        (true, _) => ("<div class=\"sheet\">".to_owned(), "</div>"),
        (false, true) => (format!("<details><summary>{}</summary>", caption.join(" · ")), "</details>"),
        (false, false) => (format!("<details open><summary>{}</summary>", caption.join(" · ")), "</details>"),
    };
    let _ = write!(body, "{open}<div class=\"scroll\">");
    match &sheet.body {
        SheetBody::Text(text) => {
            let _ = write!(body, "<pre class=\"sheet\">{}</pre>", text::html_text(text));
        }
        SheetBody::Rows { header, rows } => table(body, header, rows),
    }
    let _ = writeln!(body, "</div>{close}");
}

fn table(body: &mut String, header: &[String], rows: &[Vec<String>]) {
    let is_number = |cell: &str| cell.parse::<f64>().is_ok();
    let class = |is_number: bool| if is_number { " class=\"number\"" } else { "" };
    body.push_str("<table class=\"sheet\">");
    if !header.is_empty() {
        body.push_str("<thead><tr>");
        for (column, cell) in header.iter().enumerate() {
            let mut below = rows.iter().filter_map(|row| row.get(column)).filter(|cell| !cell.is_empty());
            let class = class(below.all(|cell| is_number(cell)));
            let _ = write!(body, "<th{class}>{}</th>", text::html_text(cell));
        }
        body.push_str("</tr></thead>");
    }
    body.push_str("<tbody>\n");
    for row in rows {
        body.push_str("<tr>");
        for cell in row {
            let _ = write!(body, "<td{}>{}</td>", class(is_number(cell)), text::html_text(cell));
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</tbody></table>");
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

fn stages(body: &mut String, story: &Story) {
    body.push_str(
        "<div class=\"scroll\"><table class=\"cards\" id=\"stages\"><thead><tr><th>Stage</th><th>Attempt</th><th>Outcome</th><th class=\"number\">Duration</th><th>What happened</th></tr></thead><tbody>\n",
    );
    for stage in &story.stages {
        // Once for all attempts of a stage.
        let mut goal = format!("<div class=\"goal\">{}</div>", text::html_text(&stage.goal));
        for attempt in &stage.attempts {
            let _ = writeln!(
                body,
                "<tr><td class=\"id\"><code>{}</code>{}</td><td>{}</td><td class=\"state {outcome}\">{outcome}</td><td class=\"number\">{}</td><td>{}</td></tr>",
                text::html_text(&stage.name_in(attempt)),
                std::mem::take(&mut goal),
                attempt.number,
                words::duration(attempt.duration()),
                happened(stage, attempt).join(" · "),
                outcome = attempt.outcome
            );
        }
        if stage.attempts.is_empty() {
            // What an earlier run made is complete without an attempt of this one.
            let tone = if stage.result().is_some() { "completed" } else { "lost" };
            let name = text::html_text(&stage.name());
            let _ = writeln!(
                body,
                "<tr><td class=\"id\"><code>{name}</code>{goal}</td><td>–</td><td class=\"state {tone}\">{}</td><td></td><td>{}</td></tr>",
                stage.standing().to_lowercase(),
                text::html_text(stage.reason.as_deref().unwrap_or_default())
            );
        }
    }
    body.push_str("</tbody></table></div>\n");
}

fn happened(stage: &StageStory, attempt: &Attempt) -> Vec<String> {
    let mut happened: Vec<String> = attempt.reason.iter().map(|reason| text::html_text(reason)).collect();
    happened.extend(stage.fate(attempt).map(str::to_owned));
    for incident in &attempt.incidents {
        happened.push(match &incident.what {
            What::Signal { signal, .. } => format!("sent {}", text::html_text(signal)),
            What::Stall { signal, .. } => format!("stalled: {}", text::html_text(signal)),
            What::Suspended { milliseconds, .. } => format!("suspended for {milliseconds} ms"),
            What::Checkpoint { checkpoint_id: id, status, mid_stage, .. } => {
                let kind = words::checkpoint_kind(status, *mid_stage);
                format!("checkpoint <code>{}</code> ({})", text::html_text(id), text::html_text(kind))
            }
            _ => continue,
        });
    }
    happened
}

fn artifacts(body: &mut String, report: &Report) {
    let story = &report.story;
    body.push_str("<h2>Files</h2>\n");
    if let Some(notebook) = &report.notebook {
        let shown = text::html_text(notebook.trim_start_matches("../"));
        let _ = writeln!(
            body,
            "<p>What the Python stages did: <a href=\"{}\"><code>{shown}</code></a></p>",
            words::link(notebook)
        );
    }
    if story.stages.iter().all(|stage| stage.artifacts.is_empty()) {
        body.push_str("<p class=\"faint\">None yet.</p>\n");
        return;
    }
    body.push_str(
        "<div class=\"scroll\"><table class=\"cards\" id=\"artifacts\"><thead><tr><th>Stage</th><th>File</th><th class=\"number\">Size</th><th>SHA-256</th></tr></thead><tbody>\n",
    );
    for stage in &story.stages {
        let outdated = stage.outdated_artifacts().map(|why| format!(" <span class=\"faint\">({why})</span>"));
        let outdated = outdated.unwrap_or_default();
        for artifact in &stage.artifacts {
            let _ = writeln!(
                body,
                "<tr><td class=\"id\"><code>{}</code>{outdated}</td><td><a href=\"{}\"><code>{}</code></a></td><td class=\"number\">{}</td><td class=\"hash\"><code title=\"{}\">{}…</code></td></tr>",
                text::html_text(&stage.name()),
                words::link(&format!("{}/{}", stage.id, artifact.path)),
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
            bytes => format!(
                "<p class=\"faint\">{} more before this: <a href=\"{}\">all of it</a></p>",
                text::size_in_words(bytes),
                words::link(&excerpt.path)
            ),
        };
        let _ = writeln!(
            body,
            "<details><summary><code>{}</code> attempt {}{}</summary>{before}<pre>{}</pre></details>",
            text::html_text(&excerpt.stage),
            excerpt.attempt,
            if excerpt.is_verification { ", <code>verify</code>" } else { "" },
            text::html_text(&excerpt.text)
        );
    }
}
