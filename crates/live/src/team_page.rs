//! The team: who is live on which machine, who meets whom in the same files of one branch, and how many holds were followed by a proving
//! run, by week. Names are shown where somebody sent them, or where this machine has the same repository; otherwise short hashes.

use std::collections::BTreeMap;

use database::{TeamClock, TeamConflict, TeamLook, TeamSession, TeamWeek};
use jiff::{SignedDuration, Timestamp};
use maud::{Markup, html};
use text::counted;

use crate::activity::Activity;
use crate::history_page::{client, share};
use crate::page::{Page, Part};
use crate::settings::PageSettings;
use crate::sources::{PageError, Sources};
use crate::team_watch::{KnownNames, TeamAnswer, TeamWatch};
use crate::words::{self, Shown, one_line};

/// A turn of which nothing was heard for so long.
const LOST_AFTER: SignedDuration = SignedDuration::from_hours(3);

const TITLE: &str = "Team · checkstone";

const LONGEST_PROMPT: usize = 160;

/// Repositories of so many are looked for on this machine.
const ROOTS: usize = 100;

pub(crate) fn page(watch: &TeamWatch, sources: &mut Sources<'_>) -> Result<Page, PageError> {
    let Some(place) = &sources.settings.team else {
        let said = "No team is shown: start with `checkstone serve --database URL`, or set `[team]` in your `config.toml`.";
        return Err(PageError::NotFound(said.to_owned()));
    };
    let heard = watch.heard();
    let look = match heard.as_deref() {
        Some(TeamAnswer::Look(look)) => look,
        Some(TeamAnswer::Silence { why, advice }) => return Ok(without(problem(why, *advice))),
        Some(TeamAnswer::NoTables) => return Ok(without(no_tables(&place.address.to_string()))),
        None => return Ok(without(no_answer(&place.address.to_string()))),
    };
    let roots = match &mut sources.journal {
        Some(journal) => journal.read(|reading| reading.known_roots(ROOTS))?,
        None => Vec::new(),
    };
    let PageSettings { state, git, .. } = sources.settings;
    Ok(watch.with_names(
        || KnownNames::new(place, state, git),
        |names| {
            names.learn(roots);
            hear_names(look, names);
            of_look(look, names, sources.settings, sources.now)
        },
    ))
}

/// What was sent with one session is known of all others.
fn hear_names(look: &TeamLook, names: &mut KnownNames) {
    for session in &look.sessions {
        let Some(repository) = &session.repository else { continue };
        let branch = session.branch.as_deref().zip(text_of(session, "branch"));
        names.hear_of(repository, text_of(session, "repository"), branch);
    }
}

/// The page of a team that cannot be shown now.
fn without(why: Markup) -> Page {
    let parts = vec![Part::new("head", html! { h1 { "Team" } }), Part::new("problem", why)];
    Page { title: TITLE.to_owned(), parts }
}

fn problem(why: &str, advice: Option<&str>) -> Markup {
    html! {
        section.banner role="alert" {
            h2 { "The team cannot be shown: " (Shown(why)) }
            @if let Some(advice) = advice { p { "To do: " (Shown(advice)) "." } }
            p.faint { "It is tried again while this page is open." }
        }
    }
}

fn no_tables(address: &str) -> Markup {
    html! {
        section.empty {
            p { "Nobody has sent anything to " code { (Shown(address)) } " yet." }
            p { "Machines send to it if " code { "[team]" } " in their " code { "config.toml" } " names it: " code { "checkstone team status" } " shows how that stands, and " code { "checkstone team schema" } " prints the SQL for an administrator." }
        }
    }
}

fn no_answer(address: &str) -> Markup {
    html! { section.empty { p { code { (Shown(address)) } " has not answered yet." } } }
}

fn of_look(look: &TeamLook, names: &mut KnownNames, settings: &PageSettings, now: Timestamp) -> Page {
    let mut parts = vec![Part::new("head", head(look, now))];
    if !look.clocks.is_empty() {
        parts.push(Part::new("clocks", clocks(&look.clocks)));
    }
    if !look.conflicts.is_empty() {
        parts.push(Part::new("conflicts", conflicts(&look.conflicts, names)));
    }
    let mut by_repository: BTreeMap<Option<&str>, Vec<&TeamSession>> = BTreeMap::new();
    for session in &look.sessions {
        by_repository.entry(session.repository.as_deref()).or_default().push(session);
    }
    let need = |session: &TeamSession| (activity(session, now), std::cmp::Reverse(at(session)));
    let mut repositories: Vec<_> = by_repository.into_iter().collect();
    repositories.iter_mut().for_each(|(_, sessions)| sessions.sort_by_key(|session| need(session)));
    repositories.sort_by_key(|(_, sessions)| sessions.first().map(|session| need(session)));
    for (id, sessions) in repositories {
        let part = format!("in-{}", id.unwrap_or("none"));
        parts.push(Part::new(part, repository(id, &sessions, names, settings, now)));
    }
    if look.sessions.is_empty() {
        let nothing = html! { section.empty { p { "No session was active in the last 12 hours." } } };
        parts.push(Part::new("nothing", nothing));
    }
    parts.push(Part::new("weeks", weeks(&look.weeks)));
    Page { title: TITLE.to_owned(), parts }
}

fn at(session: &TeamSession) -> Timestamp {
    Timestamp::from_millisecond((session.at * 1000.0) as i64).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// By the last thing that was heard.
fn activity(session: &TeamSession, now: Timestamp) -> Activity {
    let silent = now.duration_since(at(session));
    match session.verdict.as_deref() {
        None | Some("hold") if silent > LOST_AFTER => Activity::Lost,
        None => Activity::Working,
        Some("hold") => Activity::Held,
        Some(_) if session.waits => Activity::Waiting,
        Some(_) => Activity::Done,
    }
}

fn head(look: &TeamLook, now: Timestamp) -> Markup {
    let count = |wanted: Activity| look.sessions.iter().filter(|one| activity(one, now) == wanted).count();
    let mut machines: Vec<i64> = look.sessions.iter().map(|session| session.machine).collect();
    machines.sort_unstable();
    machines.dedup();
    html! {
        h1 { "Team" }
        ul.counts {
            @for activity in Activity::ALL {
                @if count(activity) > 0 { li class=(activity.class()) { b { (count(activity)) } " " (team_word(activity)) } }
            }
            li { b { (machines.len()) } " " @if machines.len() == 1 { "machine" } @else { "machines" } }
        }
    }
}

/// They do not wait for the person who looks.
fn team_word(activity: Activity) -> &'static str {
    match activity {
        Activity::Waiting => "waiting for a person",
        other => other.word(),
    }
}

fn clocks(clocks: &[TeamClock]) -> Markup {
    html! {
        section.banner {
            h2 { "Clocks that differ" }
            ul {
                @for TeamClock { machine, ahead } in clocks {
                    li {
                        (Shown(machine)) ": "
                        (text::duration_in_words(std::time::Duration::from_secs_f64(ahead.abs().min(1e9).round())))
                        @if *ahead > 0.0 { " ahead of" } @else { " behind" } " the database. Its times are corrected here."
                    }
                }
            }
        }
    }
}

fn conflicts(conflicts: &[TeamConflict], names: &mut KnownNames) -> Markup {
    let files: Vec<String> = conflicts
        .iter()
        .map(|conflict| {
            let known = conflict.path.clone().or_else(|| names.file(&conflict.repository, conflict.file));
            known.unwrap_or_else(|| format!("file {:016x}", conflict.file))
        })
        .collect();
    html! {
        section.banner role="alert" {
            h2 { "Machines in the same files" }
            ul {
                @for (conflict, file) in conflicts.iter().zip(&files) {
                    li {
                        code { (Shown(file)) } " in " (Shown(&names.repository(&conflict.repository)))
                        @if let Some(branch) = &conflict.branch { " on " (Shown(&names.branch(&conflict.repository, branch))) }
                        " was changed within four hours by "
                        @for (place, machine) in conflict.machines.iter().enumerate() {
                            @if place > 0 { " and " }
                            b { (Shown(machine)) }
                        }
                    }
                }
            }
        }
    }
}

fn repository(
    id: Option<&str>,
    sessions: &[&TeamSession],
    names: &KnownNames,
    settings: &PageSettings,
    now: Timestamp,
) -> Markup {
    let name = id.map(|id| names.repository(id));
    html! {
        section.repository {
            header { h2 { (Shown(name.as_deref().unwrap_or("Outside of a repository"))) } }
            div.cards { @for session in sessions { (card(session, names, settings, now)) } }
        }
    }
}

fn card(session: &TeamSession, names: &KnownNames, settings: &PageSettings, now: Timestamp) -> Markup {
    let activity = activity(session, now);
    let branch = session.repository.as_deref().zip(session.branch.as_deref());
    let branch = branch.map(|(repository, branch)| names.branch(repository, branch));
    let changed = usize::try_from(session.changed).ok().filter(|count| *count > 0);
    let facts =
        [changed.map(|count| format!("{} changed", counted(count, "file"))), Some(session.rules.join(", "))];
    let facts: Vec<String> =
        branch.into_iter().chain(facts.into_iter().flatten()).filter(|fact| !fact.is_empty()).collect();
    // A machine without a name is called by its member.
    let member = Some(&session.member).filter(|member| !session.machine_name.starts_with(member.as_str()));
    html! {
        article class={ "card " (activity.class()) } {
            p.line {
                span.state { (team_word(activity)) }
                span.client { (Shown(&client(&session.agent))) }
                (words::time(at(session), &settings.time_zone))
            }
            h3 {
                (Shown(&session.machine_name))
                @if let Some(member) = member { " " span.faint { (Shown(member)) } }
            }
            @if let Some(prompt) = text_of(session, "prompt") { p.detail { (Shown(&one_line(&prompt, LONGEST_PROMPT))) } }
            @if !facts.is_empty() { p.detail { (Shown(&facts.join(" · "))) } }
        }
    }
}

fn text_of(session: &TeamSession, name: &str) -> Option<String> {
    let texts: serde_json::Value = serde_json::from_str(session.texts.as_deref()?).ok()?;
    texts.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn weeks(weeks: &[TeamWeek]) -> Markup {
    html! {
        section {
            h2 { "By week" }
            @if weeks.is_empty() { p.faint { "No stop was judged yet." } }
            @else {
                table.list.numbers {
                    thead { tr { th { "week of" } th.minor { "machines" } th { "stops" } th.minor { "reported" } th { "held" } th { "then proven" } th { "changes proven" } } }
                    tbody {
                        @for week in weeks.iter().rev() {
                            tr {
                                td.day { (monday(week)) }
                                td.minor { (week.machines) }
                                td { (week.passed + week.notified + week.held) }
                                td.minor { (week.notified) }
                                td { (week.held) }
                                td { (rate(week.followed, week.held)) }
                                td { (rate(week.proving, week.changing)) }
                            }
                        }
                    }
                }
                p.faint { "Then proven: holds after which a run of the same turn proved something. Changes proven: stops with changes at which a run had proved something." }
            }
        }
    }
}

fn monday(week: &TeamWeek) -> String {
    let at = Timestamp::from_second(week.week as i64).unwrap_or(Timestamp::UNIX_EPOCH);
    at.strftime("%Y-%m-%d").to_string()
}

fn rate(part: i64, all: i64) -> String {
    match all {
        0 => "–".to_owned(),
        all => share(part.unsigned_abs(), all.unsigned_abs()),
    }
}
