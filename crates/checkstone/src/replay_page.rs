//! The report as one page that needs nothing else: no network, no files beside it, and no script to be read. The script
//! only filters. Everything that comes from a transcript is escaped, and the page allows no script but its own.

use std::fmt::Write as _;

use gate::{ActionState, Decision};
use sha2::{Digest as _, Sha256};
use stop::replay::{Hold, OtherTurn, ReasonCount, Report};
use stop::{Counts, DayCount, Statistics};
use transcript::visible;

use crate::home_relative::home_relative;
use crate::replay_table::{place, when};
use crate::verdict_text::explained;

const STYLE: &str = include_str!("replay_page.css");
const SCRIPT: &str = include_str!("replay_page.js");

/// A page with more would be slow to open; `--json` has all.
const TURNS_SHOWN: usize = 2000;

/// The drawing of turns over time, in its own units.
const CHART_WIDTH: f64 = 960.0;
const CHART_HEIGHT: f64 = 160.0;

pub(crate) fn page(report: &Report) -> String {
    let mut page = String::new();
    let digest = text::base64(&Sha256::digest(SCRIPT.as_bytes()));
    let _ = write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'sha256-{digest}'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>checkstone replay</title>\n\
         <style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
    );
    head(&mut page, report);
    over_time(&mut page, report);
    page.push_str("<div class=\"columns\">\n");
    rules(&mut page, report);
    actions(&mut page, report);
    page.push_str("</div>\n");
    projects(&mut page, &report.statistics);
    turns(&mut page, report);
    page.push_str("<div class=\"columns\">\n");
    reasons(&mut page, "Why turns were not held", "reasons", &report.reasons);
    reasons(&mut page, "Why turns were not judged", "not-judged", &report.not_judged);
    page.push_str("</div>\n");
    unread(&mut page, report);
    let _ = write!(
        page,
        "<footer>What changed is what each transcript shows as edited. Git, file times, plans and checks were not consulted, \
         and what the agent would have done after a hold is unknown. Days and times are UTC.</footer>\n\
         </main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    );
    page
}

fn head(page: &mut String, report: &Report) {
    let policy = match &report.policy {
        Some(file) => format!("Judged by <code>{}</code>", escaped(&home_relative(file.as_ref()))),
        None => "Each session judged by the policy of its own repository".to_owned(),
    };
    let days: Vec<&str> = report.statistics.days.iter().filter_map(|count| count.day.as_deref()).collect();
    let span = match (days.first(), days.last()) {
        (Some(first), Some(last)) if first != last => format!(", {first} to {last}"),
        (Some(day), _) => format!(", {day}"),
        _ => String::new(),
    };
    let _ = write!(
        page,
        "<header>\n<h1>What the policy would have decided</h1>\n<p>{policy}: <b data-count=\"total\">{}</b> turns in \
         <b data-count=\"sessions\">{}</b> sessions{span}.</p>\n</header>\n<dl class=\"totals\">\n",
        report.statistics.turns.total, report.totals.sessions
    );
    for (name, words, count) in [
        ("hold", "would have been held", report.statistics.turns.hold),
        ("notify", "reported to the person", report.statistics.turns.notify),
        ("pass", "passed silently", report.statistics.turns.pass),
        ("not-judged", "not judged", report.statistics.turns.not_judged),
    ] {
        let share = share(count, report.statistics.turns.total);
        let _ = writeln!(
            page,
            "<div class=\"{name}\"><dt>{words}</dt><dd><b data-count=\"{name}\">{count}</b> <span>{share}</span></dd></div>"
        );
    }
    page.push_str("</dl>\n");
    let held = &report.held_then;
    if held.turns > 0 {
        let _ = writeln!(
            page,
            "<p class=\"note\">Held at the time: <b data-count=\"held-then\">{}</b> turns. In <b \
             data-count=\"then-tested\">{}</b> of these, what was missing ran after the hold. This policy would hold <b \
             data-count=\"held-then-now\">{}</b> of them.</p>",
            held.turns, report.statistics.turns.then_tested, held.hold_now
        );
    }
}

/// One column for each day that had turns; many days make narrow columns.
fn over_time(page: &mut String, report: &Report) {
    let days: Vec<&DayCount> = report.statistics.days.iter().filter(|count| count.day.is_some()).collect();
    let most = days.iter().map(|count| count.turns.total).max().unwrap_or_default();
    if most == 0 {
        return;
    }
    let step = (CHART_WIDTH / days.len() as f64).min(48.0);
    let _ = write!(
        page,
        "<section>\n<h2>Turns over time</h2>\n<svg class=\"chart\" viewBox=\"0 0 {CHART_WIDTH} {:.0}\" role=\"img\" \
         aria-label=\"Turns by day\">\n<line x1=\"0\" x2=\"{CHART_WIDTH}\" y1=\"{CHART_HEIGHT}\" y2=\"{CHART_HEIGHT}\"/>\n",
        CHART_HEIGHT + 20.0
    );
    for (place, count) in days.iter().enumerate() {
        column(page, count, place as f64 * step, step, most);
    }
    for (count, at, anchor) in [(days.first(), 0.0, "start"), (days.last(), days.len() as f64 * step, "end")]
    {
        let day = count.and_then(|count| count.day.as_deref()).unwrap_or_default();
        // Under a single narrow column two names would lie over each other.
        if anchor == "start" || at > 200.0 {
            let _ = writeln!(
                page,
                "<text x=\"{at:.1}\" y=\"{:.0}\" text-anchor=\"{anchor}\">{day}</text>",
                CHART_HEIGHT + 16.0
            );
        }
    }
    let _ = write!(
        page,
        "</svg>\n<p class=\"legend\"><span class=\"hold\">held</span> <span class=\"notify\">reported</span> \
         <span class=\"pass\">passed</span> <span class=\"not-judged\">not judged</span> \
         <span class=\"most\">days with turns only; the highest has {most}</span></p>\n</section>\n"
    );
}

fn column(page: &mut String, count: &DayCount, x: f64, step: f64, most: u64) {
    let Counts { total, hold, notify, pass, not_judged, .. } = count.turns;
    let day = count.day.as_deref().unwrap_or_default();
    let _ = write!(
        page,
        "<g data-day=\"{day}\"><title>{day}: {total} turns, {hold} held, {notify} reported, {pass} passed, {not_judged} not \
         judged</title>"
    );
    let mut y = CHART_HEIGHT;
    for (class, part) in [("hold", hold), ("notify", notify), ("pass", pass), ("not-judged", not_judged)] {
        let height = part as f64 / most as f64 * (CHART_HEIGHT - 8.0);
        if part > 0 {
            y -= height;
            let _ = write!(
                page,
                "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{:.2}\" height=\"{height:.2}\"/>",
                (step - if step > 4.0 { 2.0 } else { 0.0 }).max(0.5)
            );
        }
    }
    page.push_str("</g>\n");
}

fn rules(page: &mut String, report: &Report) {
    page.push_str("<section>\n<h2>Rules</h2>\n");
    if report.rules.is_empty() {
        page.push_str("<p>No rule fired.</p>\n</section>\n");
        return;
    }
    let most = report.rules.iter().map(|count| count.hold + count.notify).max().unwrap_or(1).max(1);
    page.push_str("<table class=\"bars\">\n<tr><th>rule</th><th></th><th>held</th><th>reported</th></tr>\n");
    for count in &report.rules {
        let name = count.rule.name();
        let percent = |part: u64| part as f64 * 100.0 / most as f64;
        let _ = writeln!(
            page,
            "<tr><th>{name}</th><td class=\"bar\"><i class=\"hold\" style=\"width:{:.2}%\"></i><i class=\"notify\" \
             style=\"width:{:.2}%\"></i></td><td data-rule-hold=\"{name}\">{}</td><td data-rule-notify=\"{name}\">{}</td></tr>",
            percent(count.hold),
            percent(count.notify),
            count.hold,
            count.notify
        );
    }
    page.push_str("</table>\n</section>\n");
}

fn actions(page: &mut String, report: &Report) {
    page.push_str("<section>\n<h2>Actions</h2>\n");
    if report.actions.is_empty() {
        page.push_str("<p>No action was required of any turn.</p>\n</section>\n");
        return;
    }
    let most = report.actions.iter().map(|count| count.required + count.satisfied + count.waived).max();
    let most = most.unwrap_or(1).max(1);
    page.push_str(
        "<table class=\"bars\">\n<tr><th>action</th><th></th><th>missing</th><th>done</th><th>waived</th></tr>\n",
    );
    for count in &report.actions {
        let name = escaped(&count.action);
        let percent = |part: u64| part as f64 * 100.0 / most as f64;
        let _ = writeln!(
            page,
            "<tr><th>{name}</th><td class=\"bar\"><i class=\"hold\" style=\"width:{:.2}%\"></i><i class=\"pass\" \
             style=\"width:{:.2}%\"></i><i class=\"not-judged\" style=\"width:{:.2}%\"></i></td>\
             <td data-action-required=\"{name}\">{}</td><td>{}</td><td>{}</td></tr>",
            percent(count.required),
            percent(count.satisfied),
            percent(count.waived),
            count.required,
            count.satisfied,
            count.waived
        );
    }
    page.push_str("</table>\n</section>\n");
}

fn projects(page: &mut String, statistics: &Statistics) {
    let projects = &statistics.projects;
    if projects.is_empty() {
        return;
    }
    let most = projects.iter().map(|count| count.turns.total).max().unwrap_or(1).max(1);
    page.push_str(
        "<section>\n<h2>Projects</h2>\n<table class=\"bars\" id=\"projects\">\n<tr><th>project</th><th></th><th>turns</th><th>held</th>\
         <th>reported</th><th>passed</th><th title=\"held at the time, and what was missing then ran\">then tested</th></tr>\n",
    );
    for count in projects {
        let Counts { total, hold, notify, pass, held, then_tested, .. } = count.turns;
        let percent = |part: u64| part as f64 * 100.0 / most as f64;
        let tested = if held > 0 { format!("{then_tested} of {held}") } else { String::new() };
        let _ = writeln!(
            page,
            "<tr><th>{}</th><td class=\"bar\"><i class=\"hold\" style=\"width:{:.2}%\"></i><i class=\"notify\" style=\"width:{:.2}%\"></i><i \
             class=\"pass\" style=\"width:{:.2}%\"></i></td><td>{total}</td><td>{hold}</td><td>{notify}</td><td>{pass}</td><td>{tested}</td></tr>",
            escaped(&project(count.project.as_deref())),
            percent(hold),
            percent(notify),
            percent(pass),
        );
    }
    page.push_str("</table>\n</section>\n");
}

/// A project as it is shown and chosen.
fn project(folder: Option<&str>) -> String {
    folder.map_or_else(|| "not known".to_owned(), |folder| home_relative(folder.as_ref()))
}

/// Those that would have been held, and then the others.
fn turns(page: &mut String, report: &Report) {
    let projects = report.statistics.projects.iter().map(|count| project(count.project.as_deref()));
    let _ = writeln!(
        page,
        "<section id=\"holds\">\n<h2>Turns that would have been held</h2>\n\
         <form id=\"filter\" hidden>\n<input type=\"search\" name=\"words\" placeholder=\"Prompt, command, file…\" \
         aria-label=\"Words\">\n<select name=\"project\" aria-label=\"Project\"><option value=\"\">every project</option>{}</select>\n\
         <select name=\"rule\" aria-label=\"Rule\"><option value=\"\">every rule</option>{}</select>\n\
         <select name=\"action\" aria-label=\"Action\"><option value=\"\">every action</option>{}</select>\n\
         <select name=\"agent\" aria-label=\"Agent\"><option value=\"\">every agent</option>{}</select>\n\
         <output></output>\n</form>",
        options(projects),
        options(report.rules.iter().filter(|count| count.hold > 0).map(|count| count.rule.name().to_owned())),
        options(report.actions.iter().filter(|count| count.required > 0).map(|count| count.action.clone())),
        options(report.statistics.agents.iter().map(|count| count.agent.name().to_owned())),
    );
    if report.holds.is_empty() {
        page.push_str("<p>None.</p>\n");
    }
    left_out(page, report.holds.len());
    for hold in report.holds.iter().rev().take(TURNS_SHOWN) {
        one_hold(page, hold);
    }
    page.push_str("</section>\n");
    if report.others.is_empty() {
        return;
    }
    page.push_str("<section id=\"others\">\n<h2>Turns that would have been reported or passed</h2>\n");
    left_out(page, report.others.len());
    for turn in report.others.iter().rev().take(TURNS_SHOWN) {
        one_other(page, turn);
    }
    page.push_str("</section>\n");
}

fn left_out(page: &mut String, count: usize) {
    let more = count.saturating_sub(TURNS_SHOWN);
    if more > 0 {
        let _ = writeln!(
            page,
            "<p class=\"note\">The last {TURNS_SHOWN}; <code>--json</code> has {more} more.</p>"
        );
    }
}

/// What was so when it took place.
fn then(held: bool, tested: bool) -> &'static str {
    match (held, tested) {
        (true, true) => " <span class=\"then\">held at the time, then tested</span>",
        (true, false) => " <span class=\"then\">held at the time</span>",
        (false, _) => "",
    }
}

fn one_other(page: &mut String, turn: &OtherTurn) {
    let class = turn.verdict.name();
    let project = escaped(&project(turn.project.as_deref()));
    let _ = writeln!(
        page,
        "<details class=\"{class}\" data-agent=\"{agent}\" data-project=\"{project}\" data-rules=\"\" data-actions=\"\">\n<summary>\
         <time>{}</time> <span class=\"agent\">{agent}</span> <span class=\"project\">{project}</span> <span class=\"reason\">{}: {}</span>{} \
         <span class=\"prompt\">{}</span></summary>\n<p class=\"place\"><code>{}</code></p>\n</details>",
        when(turn.started_at),
        if turn.verdict == Decision::Notify { "reported" } else { "passed" },
        escaped(&turn.reason),
        then(turn.held_then, turn.then_tested),
        escaped(&turn.prompt),
        escaped(&place(&turn.transcript, turn.line)),
        agent = turn.agent.name(),
    );
}

fn options(values: impl Iterator<Item = String>) -> String {
    values.map(|value| format!("<option>{}</option>", escaped(&value))).collect()
}

fn one_hold(page: &mut String, hold: &Hold) {
    let verdict = &hold.verdict;
    let mut rules: Vec<&str> = verdict.observations.iter().map(|seen| seen.rule.name()).collect();
    let required: Vec<String> = verdict
        .actions
        .iter()
        .filter(|action| action.state == ActionState::Required)
        .map(|action| escaped(&action.id))
        .collect();
    if !required.is_empty() {
        rules.push(gate::Rule::MissingAction.name());
    }
    rules.sort_unstable();
    rules.dedup();
    let _ = write!(
        page,
        "<details class=\"hold\" data-agent=\"{agent}\" data-project=\"{project}\" data-rules=\"{}\" data-actions=\"{}\">\n<summary><time>{}</time> \
         <span class=\"agent\">{agent}</span> <span class=\"project\">{project}</span> <span class=\"reason\">{}</span>{} <span \
         class=\"prompt\">{}</span></summary>\n",
        rules.join(" "),
        required.join("\n"),
        when(hold.started_at),
        escaped(verdict.reason.as_str()),
        then(hold.held_then, hold.then_tested),
        escaped(&hold.prompt),
        agent = hold.agent.name(),
        project = escaped(&project(hold.project.as_deref())),
    );
    let place = place(&hold.transcript, hold.line);
    let _ = writeln!(page, "<p class=\"place\"><code>{}</code></p>", escaped(&place));
    evidence(page, hold);
    if let Some(message) = &verdict.message
        && verdict.decision == Decision::Hold
    {
        let lines: Vec<String> = message.lines().map(escaped).collect();
        let _ =
            writeln!(page, "<h3>What the agent would have been told</h3>\n<pre>{}</pre>", lines.join("\n"));
    }
    page.push_str("</details>\n");
}

/// Why: what changed, what was seen of each action, and what else was observed.
fn evidence(page: &mut String, hold: &Hold) {
    page.push_str("<dl class=\"evidence\">\n");
    for group in &hold.verdict.changed {
        let files: Vec<String> =
            group.files.iter().map(|file| format!("<code>{}</code>", escaped(file))).collect();
        let _ = writeln!(page, "<dt>{}</dt><dd>{}</dd>", escaped(&group.category), files.join(" "));
    }
    for action in &hold.verdict.actions {
        let state = match action.state {
            ActionState::Required => "missing",
            ActionState::Satisfied => "done",
            ActionState::Reported => "reported",
            ActionState::Waived => "waived",
        };
        let _ = writeln!(
            page,
            "<dt class=\"{state}\">{}</dt><dd>{}</dd>",
            escaped(&action.id),
            escaped(&explained(action))
        );
    }
    for seen in &hold.verdict.observations {
        let line = seen.line.map(|line| format!(" (line {line})")).unwrap_or_default();
        let _ = writeln!(page, "<dt>{}</dt><dd>{}{line}</dd>", seen.rule.name(), escaped(&seen.text));
    }
    page.push_str("</dl>\n");
}

fn reasons(page: &mut String, heading: &str, name: &str, reasons: &[ReasonCount]) {
    if reasons.is_empty() {
        return;
    }
    let _ = write!(page, "<section>\n<h2>{heading}</h2>\n<table class=\"reasons\" id=\"{name}\">\n");
    for reason in reasons {
        let _ = writeln!(page, "<tr><td>{}</td><th>{}</th></tr>", reason.turns, escaped(&reason.reason));
    }
    page.push_str("</table>\n</section>\n");
}

fn unread(page: &mut String, report: &Report) {
    if report.unread.is_empty() {
        return;
    }
    page.push_str("<section>\n<h2>Not read to the end</h2>\n<ul>\n");
    for file in &report.unread {
        let path = escaped(&home_relative(file.path.as_ref()));
        let _ = writeln!(page, "<li><code>{path}</code>: {}</li>", escaped(&file.reason));
    }
    page.push_str("</ul>\n</section>\n");
}

fn share(count: u64, total: u64) -> String {
    match total {
        0 => String::new(),
        total => format!("{:.1} %", count as f64 * 100.0 / total as f64),
    }
}

/// Text that stays text, in an element as in an attribute, and shows its control characters.
fn escaped(text: &str) -> String {
    text::html_text(&visible(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        assert_eq!(
            escaped("</script><b a=\"'\">&\u{1b}[2J\u{202e}"),
            "&lt;/script&gt;&lt;b a=&quot;&#39;&quot;&gt;&amp;␛[2J\u{fffd}"
        );
    }

    /// How colours look to people who do not see red, green or blue as most do (Machado, Oliveira and Fernandes, 2009).
    const SEEN: [[[f64; 3]; 3]; 3] = [
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ];

    fn seen(colour: &str, matrix: &[[f64; 3]; 3]) -> [f64; 3] {
        let light = [1, 3, 5].map(|at| {
            let part = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        });
        matrix.map(|row| {
            let part: f64 = row.iter().zip(light).map(|(share, light)| share * light).sum();
            let part = part.clamp(0.0, 1.0);
            255.0 * if part <= 0.0031308 { 12.92 * part } else { 1.055 * part.powf(1.0 / 2.4) - 0.055 }
        })
    }

    #[test]
    fn a_colour_blind_person_can_tell_the_verdicts_apart() {
        let themes = STYLE.lines().filter(|line| line.trim_start().starts_with("--hold:"));
        let mut count = 0;
        for theme in themes {
            count += 1;
            let colours: Vec<(&str, &str)> =
                theme.split(';').filter_map(|rule| rule.trim().split_once(": ")).collect();
            assert_eq!(colours.len(), 4, "{theme}");
            for (place, (name, colour)) in colours.iter().enumerate() {
                for (other, other_colour) in &colours[place + 1..] {
                    for matrix in &SEEN {
                        let pairs = seen(colour, matrix).into_iter().zip(seen(other_colour, matrix));
                        let distance = pairs.map(|(one, other)| (one - other).powi(2)).sum::<f64>().sqrt();
                        assert!(distance > 60.0, "{name} and {other} are alike: {distance:.0}");
                    }
                }
            }
        }
        assert_eq!(count, 2, "a light and a dark one");
    }
}
