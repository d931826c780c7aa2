//! What was said over the weeks: verdicts, of the holds how many were followed by a run that proves something, which rules spoke,
//! by repository and agent; and a search over prompts, commands and files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gate::Rule;
use jiff::Timestamp;
use journal::{FoundTurn, JournalError, WeekOfVerdicts};
use maud::{Markup, html};
use transcript::Agent;

use crate::history_filter::HistoryFilter;
use crate::page::{Page, Part};
use crate::settings::PageSettings;
use crate::sources::{LOOKED_THROUGH, PageError, Sources};
use crate::words::{self, Shown, one_line};

/// So many weeks have a column.
const WEEKS: usize = 26;

/// Of so many verdicts the rules are counted.
const VERDICTS: usize = 2000;

/// So many turns are found at most.
const FOUND: usize = 50;

const WIDTH: f64 = 960.0;
const HEIGHT: f64 = 140.0;

/// Verdicts added up.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    passed: u64,
    notified: u64,
    held: u64,
    followed: u64,
}

impl Sum {
    fn add(&mut self, week: &WeekOfVerdicts) {
        self.passed += week.passed;
        self.notified += week.notified;
        self.held += week.held;
        self.followed += week.followed;
    }

    fn all(self) -> u64 {
        self.passed + self.notified + self.held
    }
}

pub(crate) fn page(filter: &HistoryFilter, sources: &mut Sources<'_>) -> Result<Page, PageError> {
    let weeks = match &mut sources.journal {
        Some(journal) => journal.read(|reader| reader.weeks_of_verdicts())?,
        None => Vec::new(),
    };
    let found = filter.words.as_deref().map(|words| search(words, sources)).transpose()?;
    let fits = |week: &&WeekOfVerdicts| {
        filter.agent.as_ref().is_none_or(|agent| *agent == week.agent)
            && (filter.repository.is_none() || filter.repository == week.repository)
    };
    let chosen: Vec<&WeekOfVerdicts> = weeks.iter().filter(fits).collect();
    let rules = rules(filter, sources)?;
    let settings = sources.settings;
    let mut parts = vec![Part::new("head", head(filter, &weeks, settings))];
    if let (Some(words), Some(found)) = (&filter.words, found) {
        parts.push(Part::new("found", found_markup(words, &found, settings)));
    }
    parts.push(Part::new("sums", sums(&chosen)));
    parts.push(Part::new("weeks", chart(&chosen)));
    let by = |key: fn(&WeekOfVerdicts) -> String| {
        let mut sums: BTreeMap<String, Sum> = BTreeMap::new();
        chosen.iter().for_each(|week| sums.entry(key(week)).or_default().add(week));
        sums
    };
    let home = settings.home.as_deref();
    let repositories: BTreeMap<String, Sum> = by(|week| {
        week.repository.as_deref().map(Path::display).map(|path| path.to_string()).unwrap_or_default()
    })
    .into_iter()
    .map(|(path, sum)| {
        (
            if path.is_empty() {
                "outside of a repository".to_owned()
            } else {
                words::path(Path::new(&path), home)
            },
            sum,
        )
    })
    .collect();
    parts.push(Part::new("repositories", table("Repositories", &repositories)));
    parts.push(Part::new("agents", table("Agents", &by(|week| client(&week.agent)))));
    parts.push(Part::new("rules", rules_markup(&rules)));
    Ok(Page { title: "History · checkstone".to_owned(), parts })
}

/// Turns by prompt, file and command, the newest first.
fn search(words: &str, sources: &mut Sources<'_>) -> Result<Vec<FoundTurn>, JournalError> {
    let mut ran = sources.turns_with_command(words)?;
    ran.truncate(FOUND);
    let Some(journal) = &mut sources.journal else { return Ok(Vec::new()) };
    let (mut found, ran) =
        journal.read(|reader| Ok((reader.search_turns(words, FOUND)?, reader.found_turns(&ran)?)))?;
    found.extend(ran);
    found.sort_by_key(|turn| std::cmp::Reverse(turn.turn));
    found.dedup_by_key(|turn| turn.turn);
    found.truncate(FOUND);
    Ok(found)
}

pub(crate) fn client(agent: &str) -> String {
    Agent::named(agent)
        .map_or_else(|| agent.to_owned(), |agent| agents::registration::settings::client(agent).to_owned())
}

/// How often each rule spoke.
fn rules(
    filter: &HistoryFilter,
    sources: &mut Sources<'_>,
) -> Result<BTreeMap<&'static str, u64>, JournalError> {
    let spoken = match &mut sources.journal {
        Some(journal) => journal.read(|reader| {
            reader.spoken_verdicts(filter.agent.as_deref(), filter.repository.as_deref(), VERDICTS)
        })?,
        None => Vec::new(),
    };
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    for rule in sources.spoken_rules(&spoken)?.into_iter().flatten() {
        *counts.entry(Rule::name(rule)).or_default() += 1;
    }
    Ok(counts)
}

fn head(filter: &HistoryFilter, weeks: &[WeekOfVerdicts], settings: &PageSettings) -> Markup {
    let mut agents: Vec<&str> = weeks.iter().map(|week| week.agent.as_str()).collect();
    agents.sort_unstable();
    agents.dedup();
    let mut roots: Vec<&PathBuf> = weeks.iter().filter_map(|week| week.repository.as_ref()).collect();
    roots.sort_unstable();
    roots.dedup();
    html! {
        h1 { "History" }
        form.filter method="get" action="/history" role="search" {
            input type="search" name="words" id="words" placeholder="Prompt, command or file" aria-label="Prompt, command or file" value=[filter.words.as_deref()];
            select name="repository" id="repository" aria-label="Repository" {
                option value="" { "every repository" }
                @for root in roots {
                    option value=(Shown(&root.to_string_lossy())) selected[filter.repository.as_ref() == Some(root)] { (Shown(&words::path(root, settings.home.as_deref()))) }
                }
            }
            select name="agent" id="agent" aria-label="Agent" {
                option value="" { "every agent" }
                @for agent in agents { option value=(agent) selected[filter.agent.as_deref() == Some(agent)] { (client(agent)) } }
            }
            button type="submit" { "Show" }
        }
    }
}

fn found_markup(words: &str, found: &[FoundTurn], settings: &PageSettings) -> Markup {
    html! {
        section {
            h2 {
                @if found.is_empty() { "No turn is about " } @else if found.len() == FOUND { "The last " (FOUND) " turns about " } @else { (text::counted(found.len(), "turn")) " about " }
                "“" (Shown(words)) "”"
            }
            p.faint { "Commands are searched in the last " (LOOKED_THROUGH) " stops." }
            ul.found {
                @for turn in found {
                    li {
                        (words::time(turn.opened_at, &settings.time_zone)) " "
                        a data-item href=(format!("/session/{}?before={}", turn.session.0, turn.turn.0 + 1)) { (Shown(&one_line(&turn.prompt, 160))) } " "
                        span.faint { (client(&turn.agent)) }
                    }
                }
            }
        }
    }
}

fn sums(weeks: &[&WeekOfVerdicts]) -> Markup {
    let mut sum = Sum::default();
    weeks.iter().for_each(|week| sum.add(week));
    html! {
        dl.totals {
            div.pass { dt { "passed silently" } dd { (sum.passed) } }
            div.notify { dt { "reported to you" } dd { (sum.notified) } }
            div.hold { dt { "held" } dd { (sum.held) } }
            div.done { dt { "of the holds followed by a proving run" } dd { @if sum.held == 0 { "–" } @else { (share(sum.followed, sum.held)) } } }
        }
    }
}

pub(crate) fn share(part: u64, all: u64) -> String {
    format!("{:.0} %", part as f64 * 100.0 / all as f64)
}

fn chart(weeks: &[&WeekOfVerdicts]) -> Markup {
    let mut by_week: BTreeMap<Timestamp, Sum> = BTreeMap::new();
    weeks.iter().for_each(|week| by_week.entry(week.week).or_default().add(week));
    let shown: Vec<(Timestamp, Sum)> = by_week.into_iter().rev().take(WEEKS).collect();
    let most = shown.iter().map(|(_, sum)| sum.all()).max().unwrap_or_default();
    if most == 0 {
        return html! { section.empty { p { "No stop was judged yet." } } };
    }
    let step = (WIDTH / shown.len() as f64).min(64.0);
    html! {
        section {
            h2 { "Verdicts by week" }
            svg.weeks viewBox=(format!("0 0 {WIDTH} {}", HEIGHT + 20.0)) role="img" aria-label="Verdicts by week" {
                line x1="0" x2=(WIDTH) y1=(HEIGHT) y2=(HEIGHT) {}
                @for (place, (week, sum)) in shown.iter().rev().enumerate() {
                    (column(*week, *sum, place as f64 * step, step, most))
                }
            }
            p.legend { span.hold { "held" } span.notify { "reported" } span.pass { "passed" } span.faint { "the highest has " (most) } }
        }
    }
}

fn column(week: Timestamp, sum: Sum, x: f64, step: f64, most: u64) -> Markup {
    let day = week.strftime("%Y-%m-%d").to_string();
    let width = format!("{:.2}", (step - 4.0).max(1.0));
    let height = |count: u64| count as f64 / most as f64 * (HEIGHT - 8.0);
    // From the bottom up, each with all that is below it.
    let pieces = [
        ("hold", sum.held, sum.held),
        ("notify", sum.notified, sum.held + sum.notified),
        ("pass", sum.passed, sum.all()),
    ];
    html! {
        g {
            title { "Week of " (day) ": " (sum.all()) " verdicts, " (sum.held) " held, " (sum.followed) " of them followed, " (sum.notified) " reported" }
            @for (class, count, below) in pieces.into_iter().filter(|(_, count, _)| *count > 0) {
                rect class=(class) x=(format!("{x:.2}")) y=(format!("{:.2}", HEIGHT - height(below))) width=(width) height=(format!("{:.2}", height(count))) rx="1" {}
            }
            @if step > 30.0 { text x=(format!("{x:.2}")) y=(HEIGHT + 15.0) { (week.strftime("%m-%d").to_string()) } }
        }
    }
}

fn table(heading: &str, sums: &BTreeMap<String, Sum>) -> Markup {
    html! {
        section {
            h2 { (heading) }
            table.list.numbers {
                thead { tr { th { "" } th { "stops" } th { "held" } th { "followed" } th { "reported" } } }
                tbody {
                    @for (name, sum) in sums {
                        tr {
                            td { (Shown(name)) }
                            td { (sum.all()) }
                            td { (sum.held) }
                            td { @if sum.held == 0 { "–" } @else { (share(sum.followed, sum.held)) } }
                            td { (sum.notified) }
                        }
                    }
                }
            }
        }
    }
}

fn rules_markup(rules: &BTreeMap<&'static str, u64>) -> Markup {
    let most = rules.values().copied().max().unwrap_or(1).max(1);
    let mut sorted: Vec<(&&str, &u64)> = rules.iter().collect();
    sorted.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), **name));
    html! {
        section {
            h2 { "Rules that fired" }
            @if rules.is_empty() { p.faint { "None." } }
            table.list.numbers {
                tbody {
                    @for (name, count) in sorted {
                        tr.hold {
                            td { (name) }
                            td.bar { svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true" { rect.used width=(format!("{:.2}", *count as f64 * 100.0 / most as f64)) height="8" {} } }
                            td { (count) }
                        }
                    }
                }
            }
            p.faint { "In the last " (VERDICTS) " verdicts that held or reported." }
        }
    }
}
