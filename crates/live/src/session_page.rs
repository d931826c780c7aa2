//! The page of a session: facts, then its turns, the newest first, each as a timeline with what every stop said.

use std::path::Path;

use gate::{ActionState, CheckOutcome, Decision, Explanation, RuleState};
use jiff::Timestamp;
use journal::{Autosave, AutosaveOutcome, PushState};
use maud::{Markup, html};
use stop::Replay;
use text::counted;
use transcript::{Call, Kind, Outcome};

use crate::overview_page;
use crate::page::{Page, Part};
use crate::seen_transcript::deed;
use crate::session_story::{SessionStory, TurnStory, VerdictStory};
use crate::settings::PageSettings;
use crate::sources::Sources;
use crate::words::{self, Shown, one_line};

/// Of a turn with more calls the last ones are shown.
const MOST_CALLS: usize = 150;
const LONGEST_DEED: usize = 300;
const MOST_FILES: usize = 30;

/// One thing that happened in a turn.
enum Happening<'a> {
    Call(&'a Call),
    Verdict(&'a VerdictStory),
    Save(&'a Autosave),
}

pub(crate) fn page(story: &SessionStory, sources: &Sources<'_>) -> Page {
    let settings = sources.settings;
    let mut parts = vec![Part::new("facts", facts(story, settings))];
    for (place, turn) in story.turns.iter().enumerate() {
        let is_open = place == 0 && !story.is_earlier;
        parts.push(Part::new(format!("turn-{}", turn.turn.id.0), turn_markup(turn, is_open, settings)));
    }
    if let Some(turn) = story.older_than {
        let address = format!("/session/{}?before={}", story.card.session.id.0, turn.0);
        parts.push(Part::new("older", html! { p { a data-item href=(address) { "Earlier turns" } } }));
    }
    let title = one_line(story.card.prompt(), 60);
    Page { title: format!("{title} · checkstone"), parts }
}

fn facts(story: &SessionStory, settings: &PageSettings) -> Markup {
    let card = &story.card;
    let session = &card.session;
    let path = |path: &std::path::PathBuf| words::path(path, settings.home.as_deref());
    html! {
        section class={ "facts-of-session " (card.activity.class()) } {
            p.line {
                span.state { (card.activity.word()) }
                span { (Shown(&card.client)) }
                span { "session " code { (Shown(&session.client_id)) } }
            }
            h1 { @if card.prompt().is_empty() { "(no prompt yet)" } @else { (Shown(&one_line(card.prompt(), 200))) } }
            @if !card.detail.is_empty() { p.faint { (Shown(&one_line(&card.detail, 300))) } }
            dl.facts {
                @if let Some(root) = &session.repository { div { dt { "repository" } dd { code { (Shown(&path(root))) } } } } @else if let Some(folder) = &session.directory { div { dt { "folder" } dd { code { (Shown(&path(folder))) } } } }
                div { dt { "began" } dd { (words::time(session.started_at, &settings.time_zone)) } }
                div { dt { "last activity" } dd { (words::time(card.last_sign, &settings.time_zone)) } }
                @if let Some(slug) = &session.slug { div { dt { "work item" } dd { (Shown(slug)) } } }
            }
            @if let Some(percent) = card.percent { (overview_page::context(percent)) }
            @if story.is_earlier { p { a href=(format!("/session/{}", session.id.0)) { "To the newest turn" } } }
        }
    }
}

fn turn_markup(story: &TurnStory, is_open: bool, settings: &PageSettings) -> Markup {
    let last = story.verdicts.last().map(standing);
    let failed = story.calls.iter().filter(|call| call.outcome == Outcome::Error).count();
    let prompt = one_line(&story.turn.prompt, 200);
    html! {
        details.turn data-key=(format!("turn-{}", story.turn.id.0)) open[is_open] {
            summary data-item {
                span.what {
                    @if story.is_open { span.state.working { "under way" } }
                    @else if let Some((word, class)) = last { span class={ "state " (class) } { (word) } }
                    @else { span.state { "not judged" } }
                    b { @if prompt.is_empty() { "(an empty prompt)" } @else { (Shown(&prompt)) } }
                }
                span.faint {
                    (words::time(story.turn.opened_at, &settings.time_zone))
                    " · " (counted(story.calls.len(), "call"))
                    @if failed > 0 { ", " (failed) " failed" }
                    @if !story.changed.is_empty() { " · " (counted(story.changed.len(), "file")) " changed" }
                    @if story.turn.holds > 0 { " · held " @if story.turn.holds > 1 { (story.turn.holds) " times" } @else { "once" } }
                }
            }
            (timeline(story, settings))
            @if !story.changed.is_empty() { (changed(story)) }
            @if !story.proven.is_empty() { (proven(story)) }
        }
    }
}

fn timeline(story: &TurnStory, settings: &PageSettings) -> Markup {
    let left_out = story.calls.len().saturating_sub(MOST_CALLS);
    html! {
        ol.timeline {
            @if left_out > 0 { li.faint { (left_out) " earlier calls are not shown." } }
            @for happening in happenings(story, left_out) {
                @match happening {
                    Happening::Call(call) => (call_markup(call, settings)),
                    Happening::Verdict(verdict) => (verdict_markup(verdict, settings)),
                    Happening::Save(save) => (save_markup(save)),
                }
            }
            @if story.calls.is_empty() && story.verdicts.is_empty() { li.faint { "Nothing yet." } }
        }
    }
}

/// Calls in their own order, and what is known by its time alone before the first call that came later.
fn happenings(story: &TurnStory, left_out: usize) -> Vec<Happening<'_>> {
    let mut timed: Vec<(Timestamp, Happening<'_>)> = story
        .verdicts
        .iter()
        .map(|verdict| (verdict.recorded.at, Happening::Verdict(verdict)))
        .chain(story.saves.iter().map(|save| (save.at, Happening::Save(save))))
        .collect();
    timed.sort_by_key(|(at, _)| *at);
    let mut timed = timed.into_iter().peekable();
    let mut all = Vec::new();
    for call in story.calls.iter().skip(left_out) {
        while let Some((_, happening)) = timed.next_if(|(at, _)| call.at.is_some_and(|began| *at < began)) {
            all.push(happening);
        }
        all.push(Happening::Call(call));
    }
    all.extend(timed.map(|(_, happening)| happening));
    all
}

fn call_markup(call: &Call, settings: &PageSettings) -> Markup {
    let (class, word) = match (call.outcome, call.user_stopped) {
        (_, true) => ("stopped", "stopped by you"),
        (Outcome::Ok, _) => ("ok", "ok"),
        (Outcome::Error, _) => ("error", "failed"),
        (Outcome::Unknown, _) => ("unknown", "no result"),
    };
    let kind = match call.kind {
        Kind::Shell => "ran",
        Kind::Read => "read",
        Kind::Edit => "edited",
        Kind::Write => "wrote",
        Kind::Other => "used",
    };
    let what = match call.kind {
        Kind::Shell | Kind::Other => deed(call),
        _ => {
            let shown = |path: &String| words::path(Path::new(path), settings.home.as_deref());
            call.paths.iter().map(shown).collect::<Vec<_>>().join(", ")
        }
    };
    let lasted = call
        .at
        .zip(call.ended_at)
        .map(|(from, to)| to.duration_since(from))
        .filter(|time| time.as_secs() > 0);
    html! {
        li class={ "call " (class) } {
            span.kind { (kind) }
            div {
                code { (Shown(&one_line(&what, LONGEST_DEED))) }
                span.faint {
                    @if let Some(subagent) = &call.subagent { " by sub-agent " (Shown(&one_line(subagent, 40))) }
                    @if let Some(code) = call.exit_code.filter(|code| *code != 0) { " exit code " (code) }
                    @if let Some(lasted) = lasted { " " (text::short_duration(lasted.unsigned_abs())) }
                }
                @if let Some(snippet) = call.snippet.as_ref().filter(|snippet| call.kind == Kind::Shell && !snippet.trim().is_empty()) {
                    details data-key=(format!("call-{}", call.offset)) { summary.faint { "output" } pre { (Shown(snippet)) } }
                }
            }
            span.outcome { (word) }
        }
    }
}

/// The word for a verdict, and the class of its colour. That all is done is told to the person, but needs nobody.
fn standing(story: &VerdictStory) -> (&'static str, &'static str) {
    let is_clear = story.explained.verdict.as_ref().is_some_and(|verdict| {
        let mut actions = verdict.actions.iter();
        verdict.observations.is_empty() && actions.all(|action| action.state == ActionState::Satisfied)
    });
    match story.recorded.decision {
        Decision::Notify if is_clear => ("all clear", Decision::Pass.name()),
        decision => (decision_word(decision), decision.name()),
    }
}

fn decision_word(decision: Decision) -> &'static str {
    match decision {
        Decision::Pass => "passed",
        Decision::Notify => "reported",
        Decision::Hold => "held",
    }
}

fn verdict_markup(story: &VerdictStory, settings: &PageSettings) -> Markup {
    let recorded = &story.recorded;
    let (word, class) = standing(story);
    let reason = story.explained.verdict.as_ref().map(|verdict| verdict.reason.as_str()).unwrap_or_default();
    let name =
        recorded.repository.as_ref().and_then(|root| root.file_name()).map(|name| name.to_string_lossy());
    html! {
        li class={ "verdict " (class) } {
            span.kind { "stop" }
            div {
                p {
                    span.state { (word) } " "
                    @if reason != word { b { (Shown(reason)) } " " }
                    span.faint { (words::time(recorded.at, &settings.time_zone)) @if let Some(name) = name { " in " (Shown(&name)) } }
                }
                @if let Some(verdict) = &story.explained.verdict {
                    ul.actions {
                        @for action in &verdict.actions {
                            @let (mark, class) = match action.state {
                                ActionState::Satisfied => ("✓", "done"),
                                ActionState::Required => ("✗", "lost"),
                                ActionState::Reported | ActionState::Waived => ("–", "waiting"),
                            };
                            li class=(class) {
                                span.mark { (mark) } " " b { (Shown(&action.id)) } " "
                                @if let Some(evidence) = &action.evidence {
                                    "by " code { (Shown(&one_line(&evidence.command, 160))) }
                                    @if let Some(line) = evidence.line { span.faint { " line " (line) } }
                                } @else { (Shown(&action.say)) }
                                @if let Some(reason) = &action.reason { span.faint { " (" (Shown(reason)) ")" } }
                            }
                        }
                        @for observation in &verdict.observations {
                            li.waiting {
                                span.mark { "!" } " " (Shown(&observation.text))
                                @if let Some(line) = observation.line { span.faint { " line " (line) } }
                            }
                        }
                    }
                }
                @if !recorded.message.is_empty() {
                    details data-key=(format!("message-{}", recorded.id.0)) {
                        summary.faint { @if recorded.decision == Decision::Hold { "what the agent was told" } @else { "what you were told" } }
                        pre { (Shown(&recorded.message)) }
                    }
                }
                (rules(story))
            }
            span.outcome { code { "explain " (recorded.id.0) } }
        }
    }
}

fn rules(story: &VerdictStory) -> Markup {
    let explained = &story.explained;
    html! {
        details data-key=(format!("rules-{}", story.recorded.id.0)) {
            summary.faint { "rules and their evidence" }
            @if explained.rules.is_empty() && explained.checks.is_empty() {
                p.faint { "No rule was evaluated: the reason above was enough." }
            }
            table.rules {
                @for rule in &explained.rules { (rule_row(rule)) }
                @for check in &explained.checks {
                    @let word = match check.outcome {
                        CheckOutcome::Passed => "passed",
                        CheckOutcome::Failed => "failed",
                        CheckOutcome::TimedOut => "timed out",
                        CheckOutcome::NotStarted => "no start",
                    };
                    tr { th { (word) } td { "check " code { (Shown(&check.run)) } } }
                }
            }
            p.faint {
                @match &explained.replay {
                    Replay::Same => "Judged again from the recorded inputs: the same, bit for bit.",
                    Replay::Different(again) => { "Judged again it is " (decision_word(again.decision)) ": " (Shown(again.reason.as_str())) },
                    Replay::Impossible(why) => { "It cannot be judged again: " (Shown(why)) },
                }
            }
        }
    }
}

fn rule_row(rule: &Explanation) -> Markup {
    let (class, state) = match rule.state {
        RuleState::Fired => ("lost", "fired"),
        RuleState::Suppressed => ("done", "suppressed"),
        RuleState::Waived => ("waiting", "waived"),
        RuleState::Off => ("", "off"),
    };
    html! {
        tr class=(class) {
            th { (state) }
            td {
                (rule.rule.name()) ", " (Shown(&rule.subject))
                @if let Some(line) = rule.line { " (line " (line) ")" }
                @if let Some(evidence) = &rule.evidence { ", by " code { (Shown(&one_line(&evidence.command, 160))) } }
                @if let Some(reason) = &rule.reason { ": " (Shown(reason)) }
            }
        }
    }
}

fn save_markup(save: &Autosave) -> Markup {
    let word = match save.outcome {
        AutosaveOutcome::Saved => "saved",
        AutosaveOutcome::Nothing => "nothing to save",
        AutosaveOutcome::Advised => "advised",
        AutosaveOutcome::Failed => "not saved",
    };
    let push = match save.push {
        PushState::None => "",
        PushState::Started => ", push started",
        PushState::Pushed => ", pushed",
        PushState::Failed => ", push failed",
    };
    html! {
        li.save {
            span.kind { "save" }
            div {
                b { (word) (push) } " "
                @if let Some(percent) = save.percent { span.faint { "at " (percent) " % of the context " } }
                @if let Some(commit) = &save.commit { code { (Shown(commit.get(..10).unwrap_or(commit))) } }
                @if !save.detail.is_empty() { p.faint { (Shown(&one_line(&save.detail, 300))) } }
            }
        }
    }
}

fn changed(story: &TurnStory) -> Markup {
    html! {
        section.changed {
            h3 { "Changed in this turn" }
            ul {
                @for (file, how) in story.changed.iter().take(MOST_FILES) {
                    li { code { (Shown(file)) } span.faint { " " (Shown(how)) } }
                }
                @if story.changed.len() > MOST_FILES { li.faint { (story.changed.len() - MOST_FILES) " more" } }
            }
            p { a data-item href=(format!("/changes/{}", story.turn.id.0)) { "Show the diff" } }
        }
    }
}

fn proven(story: &TurnStory) -> Markup {
    html! {
        section.changed {
            h3 { "Proven in this turn" }
            ul {
                @for content in story.proven.iter().take(MOST_FILES) {
                    li {
                        code { (Shown(&content.path)) } " " (Shown(&content.action)) " by "
                        code { (Shown(&one_line(&content.command, 160))) }
                    }
                }
                @if story.proven.len() > MOST_FILES { li.faint { (story.proven.len() - MOST_FILES) " more" } }
            }
        }
    }
}
