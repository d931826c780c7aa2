//! The overview: who needs a person, then every repository with a card for each of its sessions.

use journal::SessionId;
use maud::{Markup, html};
use text::counted;

use crate::activity::Activity;
use crate::overview::{Conflict, Overview, RepositoryGroup, SessionCard};
use crate::page::{Page, Part};
use crate::settings::PageSettings;
use crate::sources::Sources;
use crate::words::{self, Shown, one_line};

const LONGEST_PROMPT: usize = 160;
const LONGEST_DETAIL: usize = 200;

/// Of a prompt, where it only names its session.
const LONGEST_NAME: usize = 40;

/// Of many files the first ones stand for all.
const FILES_NAMED: usize = 5;

pub(crate) fn page(overview: &Overview, problems: &[String], sources: &Sources<'_>) -> Page {
    let settings = sources.settings;
    let mut parts = vec![Part::new("summary", summary(overview))];
    if !problems.is_empty() {
        parts.push(Part::new("notification", notification_problems(problems)));
    }
    if !overview.conflicts.is_empty() {
        parts.push(Part::new("conflicts", conflicts(overview, settings)));
    }
    for group in &overview.groups {
        let first = group.cards.iter().map(|card| card.session.id.0).min().unwrap_or_default();
        let id = match &group.root {
            Some(root) => format!("in-{}", text::hexadecimal(root.as_os_str().as_encoded_bytes())),
            None => format!("outside-{first}"),
        };
        parts.push(Part::new(id, repository(group, settings)));
    }
    if overview.groups.is_empty() {
        parts.push(Part::new("nothing", nothing(sources.journal.is_some())));
    }
    let needy = overview.count(Activity::Waiting) + overview.count(Activity::Lost);
    let title = if needy == 0 { "checkstone".to_owned() } else { format!("({needy}) checkstone") };
    Page { title, parts }
}

fn summary(overview: &Overview) -> Markup {
    let counts = Activity::ALL.map(|activity| (activity, overview.count(activity)));
    let needy: usize =
        counts.iter().filter(|(activity, _)| activity.needs_person()).map(|(_, count)| count).sum();
    html! {
        h1 {
            @match needy {
                0 => "No agent is waiting for you",
                1 => "An agent is waiting for you",
                several => { (several) " agents are waiting for you" }
            }
        }
        ul.counts {
            @for (activity, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
                li class=(activity.class()) { b { (count) } " " (activity.word()) }
            }
        }
    }
}

/// Nobody looks at the terminal that serves the page.
fn notification_problems(problems: &[String]) -> Markup {
    html! {
        section.banner role="status" {
            h2 { "A notification was not delivered" }
            ul { @for problem in problems { li { (Shown(problem)) } } }
            p { "See " code { "[integrations.session_waits]" } " in your " code { "config.toml" } "." }
        }
    }
}

fn conflicts(overview: &Overview, settings: &PageSettings) -> Markup {
    let (first, more) = overview.conflicts.split_at(overview.conflicts.len().min(FILES_NAMED));
    html! {
        section.banner role="alert" {
            h2 { "Sessions in the same files" }
            ul { @for conflict in first { (conflict_line(conflict, overview, settings)) } }
            @if !more.is_empty() {
                details data-key="more-conflicts" {
                    summary { (counted(more.len(), "more file")) }
                    ul { @for conflict in more { (conflict_line(conflict, overview, settings)) } }
                }
            }
        }
    }
}

/// A session is named as its card is: by the client and the prompt.
fn conflict_line(conflict: &Conflict, overview: &Overview, settings: &PageSettings) -> Markup {
    let cards = || overview.groups.iter().flat_map(|group| &group.cards);
    let prompt = |id: SessionId| {
        let card = cards().find(|card| card.session.id == id);
        card.map(|card| one_line(card.prompt(), LONGEST_NAME)).filter(|prompt| !prompt.is_empty())
    };
    html! {
        li {
            code { (Shown(&words::path(&conflict.file, settings.home.as_deref()))) }
            " is edited by "
            @for (place, (id, client)) in conflict.sessions.iter().enumerate() {
                @if place > 0 { " and " }
                a href=(format!("/session/{}", id.0)) {
                    (client) @if let Some(prompt) = prompt(*id) { " (“" (Shown(&prompt)) "”)" }
                }
            }
        }
    }
}

fn repository(group: &RepositoryGroup, settings: &PageSettings) -> Markup {
    let shown = group.root.as_ref().map(|root| words::path(root, settings.home.as_deref()));
    let name = group.root.as_ref().and_then(|root| root.file_name()).map(|name| name.to_string_lossy());
    html! {
        section.repository {
            header {
                h2 { (Shown(name.as_deref().unwrap_or("Outside of a repository"))) }
                @if let Some(shown) = &shown { code.place { (Shown(shown)) } }
                @if let Some(branch) = &group.branch { span.branch { (branch_mark()) (Shown(branch)) } }
            }
            @if group.is_gone { p.problem { "This folder is gone, or is no longer a repository." } }
            @if !group.unproven.is_empty() { (unproven(group)) }
            div.cards {
                @for card in &group.cards { (session(card, settings)) }
            }
        }
    }
}

fn unproven(group: &RepositoryGroup) -> Markup {
    html! {
        details.unproven {
            summary { b { (counted(group.unproven.len(), "file")) } " unproven" }
            ul {
                @for (file, actions) in group.unproven.iter().take(FILES_NAMED) {
                    li { code { (Shown(file)) } " needs " (Shown(&actions.iter().cloned().collect::<Vec<_>>().join(", "))) }
                }
                @if group.unproven.len() > FILES_NAMED {
                    li { (group.unproven.len() - FILES_NAMED) " more: " code { "checkstone verify" } }
                }
            }
        }
    }
}

fn session(card: &SessionCard, settings: &PageSettings) -> Markup {
    let prompt = one_line(card.prompt(), LONGEST_PROMPT);
    let detail = one_line(&card.detail, LONGEST_DETAIL);
    html! {
        article class={ "card " (card.activity.class()) } {
            p.line {
                span.state { (card.activity.word()) }
                span.client { (Shown(&card.client)) }
                (words::time(card.since(), &settings.time_zone))
            }
            h3 {
                a href=(format!("/session/{}", card.session.id.0)) {
                    @if prompt.is_empty() { "(no prompt yet)" } @else { (Shown(&prompt)) }
                }
            }
            @if !detail.is_empty() { p.detail { (Shown(&detail)) } }
            @if let Some(percent) = card.percent { (context(percent)) }
        }
    }
}

/// How full the context is.
pub(crate) fn context(percent: u64) -> Markup {
    let class = match percent {
        0..60 => "roomy",
        60..85 => "filling",
        _ => "full",
    };
    html! {
        p class={ "context " (class) } {
            svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" {
                rect.track width="100" height="4" {}
                rect.used width=(percent.min(100)) height="4" {}
            }
            span { "context " (percent) " %" }
        }
    }
}

fn branch_mark() -> Markup {
    html! {
        svg viewBox="0 0 16 16" width="12" height="12" aria-hidden="true" {
            circle cx="4" cy="3.5" r="1.8" fill="none" stroke="currentColor" stroke-width="1.4" {}
            circle cx="4" cy="12.5" r="1.8" fill="none" stroke="currentColor" stroke-width="1.4" {}
            circle cx="12" cy="5.5" r="1.8" fill="none" stroke="currentColor" stroke-width="1.4" {}
            path d="M4 5.3 V10.7 M12 7.3 C12 10 4 8.5 4 10.7" fill="none" stroke="currentColor" stroke-width="1.4" {}
        }
    }
}

fn nothing(has_journal: bool) -> Markup {
    html! {
        section.empty {
            @if has_journal {
                p { "No session worked in the last two days." }
            } @else {
                p { "Nothing was recorded yet." }
            }
            p { "Sessions appear here when a client calls the hook: " code { "checkstone init" } " registers it, and " code { "checkstone doctor" } " proves that it fires." }
        }
    }
}
