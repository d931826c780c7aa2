//! Workflows of every repository that a session worked in: their phases, when they were under way, and what they came to.

use std::path::Path;

use jiff::Timestamp;
use maud::{Markup, html};
use workflow::{Listed, Phase, ResumePoint, StateDirectory, Status};

use crate::page::{Page, Part};
use crate::sources::{PageError, Sources};
use crate::words::{self, Shown, one_line};

/// So many repositories are looked into.
const REPOSITORIES: usize = 100;

pub(crate) fn page(sources: &mut Sources<'_>) -> Result<Page, PageError> {
    let roots = match &mut sources.journal {
        Some(journal) => journal.read(|reader| reader.known_roots(REPOSITORIES))?,
        None => Vec::new(),
    };
    let mut parts = vec![Part::new("head", html! { h1 { "Workflows" } })];
    for root in roots.iter().filter(|root| root.is_dir()) {
        let state = StateDirectory::of(root, &sources.settings.git);
        sources.files.whole_folder(&state.folder());
        let Ok((listed, problems)) = state.list() else { continue };
        if listed.is_empty() && problems.is_empty() {
            continue;
        }
        let problems: Vec<(String, String)> =
            problems.into_iter().map(|one| (one.file, one.problem)).collect();
        let id = format!("in-{}", text::hexadecimal(root.as_os_str().as_encoded_bytes()));
        parts.push(Part::new(id, repository(root, &listed, &problems, sources)));
    }
    if parts.len() == 1 {
        let nothing = html! { section.empty { p { "No repository has a workflow: " code { "checkstone workflow start" } " starts one." } } };
        parts.push(Part::new("nothing", nothing));
    }
    Ok(Page { title: "Workflows · checkstone".to_owned(), parts })
}

fn repository(
    root: &Path,
    listed: &[Listed],
    problems: &[(String, String)],
    sources: &Sources<'_>,
) -> Markup {
    let name = root.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    html! {
        section.repository {
            header {
                h2 { (Shown(&name)) }
                code.place { (Shown(&words::path(root, sources.settings.home.as_deref()))) }
            }
            @for (file, problem) in problems { p.problem { code { (Shown(file)) } ": " (Shown(problem)) } }
            @for one in listed { (workflow(one, sources.now)) }
        }
    }
}

fn workflow(listed: &Listed, now: Timestamp) -> Markup {
    let workflow = &listed.workflow;
    let file = workflow.file();
    let point = ResumePoint::of(file);
    let name = listed.name();
    let to_come = file.state.pending_phases.iter().filter(|name| file.phase(name).is_none());
    let spans: Vec<(Timestamp, Timestamp)> =
        file.phases.iter().filter_map(|(_, phase)| span(phase, now)).collect();
    let whole = spans.iter().map(|span| span.0).min().zip(spans.iter().map(|span| span.1).max());
    html! {
        details.turn open data-key=(format!("workflow-{}", listed.stem)) {
            summary data-item {
                span.what {
                    @if workflow.is_complete() { span.state.done { "complete" } } @else { span.state.working { "open" } }
                    b { (Shown(&name.to_string())) }
                }
                @if let Some(phase) = &point.phase { span.faint { "continues with " (Shown(phase)) } }
            }
            table.list.phases {
                tbody {
                    @for (phase_name, phase) in &file.phases { (phase_row(phase_name, phase, whole, now)) }
                    @for phase in to_come { tr { td { (Shown(phase)) } td { span.state { "pending" } } td {} td {} } }
                }
            }
            @if let Some(gate) = &file.gate {
                p { @if gate.ship_allowed { "May be shipped." } @else { "May not be shipped:" } }
                ul { @for blocker in &gate.blockers { li { (Shown(blocker)) } } }
            }
        }
    }
}

fn phase_row(name: &str, phase: &Phase, whole: Option<(Timestamp, Timestamp)>, now: Timestamp) -> Markup {
    let class = match phase.status {
        Status::Complete => "done",
        Status::Failed => "lost",
        Status::InProgress => "working",
        _ => "",
    };
    let said =
        phase.error.as_ref().filter(|_| phase.status == Status::Failed).or(phase.context_summary.as_ref());
    let span = span(phase, now);
    html! {
        tr class=(class) {
            td { (Shown(name)) @if let Some(said) = said { p.faint { (Shown(&one_line(said, 300))) } } }
            td { span.state { (Shown(&phase.status_in_words())) } }
            td.faint { @if let Some((from, to)) = span { (text::short_duration(to.duration_since(from).unsigned_abs())) } }
            td.bar { @if let Some((whole, span)) = whole.zip(span) { (bar(whole, span)) } }
        }
    }
}

/// When a phase was under way.
fn span(phase: &Phase, now: Timestamp) -> Option<(Timestamp, Timestamp)> {
    let start: Timestamp = phase.started_at.as_deref()?.parse().ok()?;
    let end = match phase.status {
        Status::InProgress => now,
        _ => phase.updated_at.as_deref()?.parse().ok()?,
    };
    (start <= end).then_some((start, end))
}

/// Its place in the whole time.
fn bar(whole: (Timestamp, Timestamp), span: (Timestamp, Timestamp)) -> Markup {
    let all = whole.1.duration_since(whole.0).as_secs_f64().max(0.001);
    let share = |at: Timestamp| at.duration_since(whole.0).as_secs_f64() / all * 100.0;
    let (x, width) = (share(span.0).min(99.0), (share(span.1) - share(span.0)).max(1.0));
    html! {
        svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" {
            rect.track width="100" height="8" {}
            rect.used x=(format!("{x:.2}")) width=(format!("{width:.2}")) height="8" {}
        }
    }
}
