//! Runs of staged work: all that there are, and one with its chart, what its stages print and its checkpoints.

use checkpoint::layout::Layout;
use journal::{NotedRun, NotedRunId};
use maud::{Markup, PreEscaped, html};
use run::control;
use run::end_of_output;
use run::event::What;
use run::plan::Plan;
use run::record::{self, Record};
use run::report::{Outcome, Story, chart};
use run::state::{RunState, StageState};
use text::counted;

use crate::page::{Page, Part};
use crate::settings::PageSettings;
use crate::sources::{PageError, Sources};
use crate::words::{self, Shown};

/// So many runs are listed.
const RUNS: usize = 100;

/// So much of what a stage prints is shown.
const OUTPUT: u64 = 16 * 1024;

pub(crate) fn list(sources: &mut Sources<'_>) -> Result<Page, PageError> {
    let noted = match &mut sources.journal {
        Some(journal) => journal.read(|reader| reader.all_runs(RUNS))?,
        None => Vec::new(),
    };
    let mut parts = vec![Part::new("head", html! { h1 { "Runs" } })];
    if noted.is_empty() {
        parts.push(Part::new(
            "nothing",
            html! { section.empty { p { "No run was started yet: " code { "checkstone run PLAN" } " starts one." } } },
        ));
    }
    for (id, run) in &noted {
        parts.push(Part::new(format!("run-{}", id.0), listed(*id, run, sources)));
    }
    Ok(Page { title: "Runs · checkstone".to_owned(), parts })
}

/// How a run stands: its state, in words and by its colour.
fn standing(state: &str, layout: Option<&Layout>) -> (&'static str, String) {
    let is_taken = layout.is_some_and(control::is_taken);
    let state = RunState::ALL.iter().find(|known| known.name() == state);
    match state {
        Some(RunState::InProgress | RunState::Planned) if is_taken => ("working", "running".to_owned()),
        Some(RunState::InProgress | RunState::Planned) => ("lost", "lost its supervisor".to_owned()),
        Some(RunState::Completed) => ("done", "completed".to_owned()),
        Some(RunState::Failed) => ("lost", "failed".to_owned()),
        Some(other) => ("held", other.name().to_lowercase()),
        None => ("", "unknown".to_owned()),
    }
}

fn listed(id: NotedRunId, run: &NotedRun, sources: &Sources<'_>) -> Markup {
    let layout = Layout::new(&run.repository, &run.title, &run.run).ok();
    let (class, state) = standing(&run.state, layout.as_ref());
    let is_there = layout.as_ref().is_some_and(|layout| layout.events().is_file());
    if let Some(layout) = layout.as_ref().filter(|_| class == "working") {
        sources.files.file(&layout.events());
    }
    html! {
        article class={ "card " (class) } {
            p.line {
                span.state { (state) }
                code { (Shown(&run.run)) }
                (words::time(run.changed_at, &sources.settings.time_zone))
            }
            h3 {
                @if is_there { a href=(format!("/run/{}", id.0)) { (Shown(&run.title)) } } @else { (Shown(&run.title)) }
            }
            p.detail {
                code { (Shown(&words::path(&run.repository, sources.settings.home.as_deref()))) }
                @if !is_there { ": its folder is gone." }
            }
        }
    }
}

/// The run with this number.
pub(crate) fn layout_of(id: NotedRunId, sources: &mut Sources<'_>) -> Result<Layout, PageError> {
    let unknown = || PageError::NotFound(format!("There is no run {}.", id.0));
    let journal = sources.journal.as_mut().ok_or_else(unknown)?;
    let noted = journal.read(|reader| reader.run_by_id(id))?.ok_or_else(unknown)?;
    let layout = Layout::new(&noted.repository, &noted.title, &noted.run).map_err(|_| unknown())?;
    match layout.events().is_file() {
        true => Ok(layout),
        false => Err(PageError::NotFound(format!("The folder of run `{}` is gone.", noted.run))),
    }
}

pub(crate) fn one(id: NotedRunId, sources: &mut Sources<'_>) -> Result<Page, PageError> {
    let layout = layout_of(id, sources)?;
    let cannot = |error: record::RecordError| PageError::NotFound(text::error_chain(&error));
    sources.files.file(&layout.events());
    let record = Record::read(&layout.events()).map_err(cannot)?;
    let events = record::read_events(&layout.events()).map_err(cannot)?;
    let plan = record.read_plan(layout.root());
    let goals = plan.as_ref().ok().map(Plan::goals);
    let story = Story::of(&events, goals.as_deref());
    let settings = sources.settings;
    let mut parts = vec![Part::new("head", head(id, &layout, &story, settings))];
    parts.push(Part::new("chart", html! { section.chart { (PreEscaped(chart(&story))) } }));
    for stage in story.stages.iter().filter(|stage| is_live(stage.state)) {
        let Some(attempt) = stage.attempts.last() else { continue };
        let Ok(path) = layout.attempt_output(&stage.id, attempt.number) else { continue };
        sources.files.file(&path);
        let (text, before) = end_of_output::end_of(&path, OUTPUT).unwrap_or_default();
        parts.push(Part::new(
            format!("output-{}", text::hexadecimal(stage.id.as_bytes())),
            html! {
                section.output {
                    h2 { code { (Shown(&stage.name())) } span.faint { " attempt " (attempt.number) } }
                    @if before > 0 { p.faint { (text::size_in_words(before)) " before this" } }
                    pre data-tail=(stage.id) { @if text.is_empty() { "Nothing was printed yet." } @else { (Shown(&text)) } }
                }
            },
        ));
    }
    parts.push(Part::new("stages", stages(&story)));
    let checkpoints: Vec<&What> = events
        .iter()
        .map(|event| &event.what)
        .filter(|what| matches!(what, What::Checkpoint { .. }))
        .collect();
    if !checkpoints.is_empty() {
        parts.push(Part::new("checkpoints", checkpoints_markup(&checkpoints, settings)));
    }
    Ok(Page { title: format!("{} · checkstone", story.title), parts })
}

fn is_live(state: StageState) -> bool {
    matches!(state, StageState::Running | StageState::Interrupting)
}

fn head(id: NotedRunId, layout: &Layout, story: &Story, settings: &PageSettings) -> Markup {
    let (class, state) = standing(story.state.name(), Some(layout));
    let (completed, all) = story.progress();
    html! {
        section class={ "facts-of-session " (class) } {
            p.line { span.state { (state) } span { "run " code { (Shown(&story.run)) } } }
            h1 { (Shown(&story.title)) }
            @if let Some(goal) = story.goal() { p.faint { (Shown(goal)) } }
            dl.facts {
                div { dt { "stages" } dd { (completed) " of " (all) } }
                @if let Some(at) = story.started_at() { div { dt { "started" } dd { (words::time(at, &settings.time_zone)) } } }
                div { dt { "elapsed" } dd { (text::duration_in_words(story.elapsed().unsigned_abs())) } }
                @if story.resumes() > 0 { div { dt { "resumed" } dd { (counted(story.resumes(), "time")) } } }
                div { dt { "project" } dd { code { (Shown(&words::path(layout.root(), settings.home.as_deref()))) } } }
            }
            @if class == "working" { p { a.button href=(format!("/run/{}/abort", id.0)) { "Abort…" } } }
        }
    }
}

fn stages(story: &Story) -> Markup {
    html! {
        section {
            h2 { "Stages" }
            table.list {
                thead { tr { th { "stage" } th { "state" } th { "attempts" } th { "why" } } }
                tbody {
                    @for stage in &story.stages {
                        @let class = match stage.state {
                            StageState::Completed => "done",
                            StageState::Running | StageState::Interrupting => "working",
                            StageState::Failed => "lost",
                            StageState::Pending => "",
                            _ => "held",
                        };
                        tr class=(class) {
                            td { code { (Shown(&stage.name())) } @if !stage.goal.is_empty() { p.faint { (Shown(&stage.goal)) } } }
                            td { span.state { (stage.state.name().to_lowercase()) } }
                            td { (stage.attempts.len()) }
                            td.faint { (Shown(stage.reason.as_deref().unwrap_or_default())) }
                        }
                    }
                }
            }
            @let broken = story.stages.iter().flat_map(|stage| &stage.attempts).filter(|attempt| !matches!(attempt.outcome, Outcome::Completed | Outcome::Running)).count();
            @if broken > 0 { p.faint { (counted(broken, "attempt")) " did not complete" } }
        }
    }
}

fn checkpoints_markup(checkpoints: &[&What], settings: &PageSettings) -> Markup {
    html! {
        section {
            h2 { "Checkpoints" }
            table.list {
                tbody {
                    @for what in checkpoints.iter().rev() {
                        @if let What::Checkpoint { stage_id, checkpoint_id, status, created_at, artifacts, .. } = what {
                            tr {
                                td { code { (Shown(checkpoint_id)) } }
                                td { (Shown(stage_id)) }
                                td { (Shown(status)) }
                                td { (counted(*artifacts, "artifact")) }
                                td { (words::time(*created_at, &settings.time_zone)) }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The question before a run is aborted; it works without a script.
pub(crate) fn abort_question(
    id: NotedRunId,
    form_key: &str,
    sources: &mut Sources<'_>,
) -> Result<Page, PageError> {
    let layout = layout_of(id, sources)?;
    let back = format!("/run/{}", id.0);
    let part = html! {
        section.empty {
            @if control::is_taken(&layout) {
                h1 { "Abort " (Shown(layout.title())) "?" }
                p { "What runs is asked to stop, then killed; an emergency checkpoint keeps its work so far. " code { "checkstone resume " (Shown(layout.run())) } " continues it later." }
                form method="post" action=(format!("/run/{}/abort", id.0)) {
                    input type="hidden" name="key" value=(form_key);
                    button.danger type="submit" { "Abort the run" }
                    " " a.button href=(back) { "Back" }
                }
            } @else {
                h1 { "This run is not running" }
                p { a.button href=(back) { "Back" } }
            }
        }
    };
    Ok(Page { title: "Abort · checkstone".to_owned(), parts: vec![Part::new("question", part)] })
}
