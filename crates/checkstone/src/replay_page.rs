//! The report as one page that needs nothing else: no network, no files beside it, and no script to be read. The script
//! only filters. Everything that comes from a transcript is escaped, and the page allows no script but its own.

use std::fmt::Write as _;

use gate::{ActionState, Decision};
use sha2::{Digest as _, Sha256};
use stop::replay::{Counts, DayCount, Hold, ReasonCount, Report};
use transcript::visible;

use crate::home_relative::home_relative;
use crate::replay_table::{place, when};
use crate::verdict_text::explained;

const STYLE: &str = include_str!("replay_page.css");
const SCRIPT: &str = include_str!("replay_page.js");

/// A page with more would be slow to open; `--json` has all.
const HOLDS_SHOWN: usize = 2000;

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
    holds(&mut page, report);
    page.push_str("<div class=\"columns\">\n");
    reasons(&mut page, "Why turns were not held", "reasons", &report.reasons);
    reasons(&mut page, "Why turns were not judged", "not-judged", &report.not_judged);
    page.push_str("</div>\n");
    unread(&mut page, report);
    let _ = write!(
        page,
        "<footer>What changed is what each transcript shows as edited. Git, file times, plans and checks were not asked, and \
         nothing is known of what the agent would have done after a hold. Days and times are UTC.</footer>\n\
         </main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    );
    page
}

fn head(page: &mut String, report: &Report) {
    let policy = match &report.policy {
        Some(file) => format!("Judged by <code>{}</code>", escaped(&home_relative(file.as_ref()))),
        None => "Each session judged by the policy of its own repository".to_owned(),
    };
    let days: Vec<&str> = report.days.iter().filter_map(|count| count.day.as_deref()).collect();
    let span = match (days.first(), days.last()) {
        (Some(first), Some(last)) if first != last => format!(", {first} to {last}"),
        (Some(day), _) => format!(", {day}"),
        _ => String::new(),
    };
    let _ = write!(
        page,
        "<header>\n<h1>What the policy would have said</h1>\n<p>{policy}: <b data-count=\"total\">{}</b> turns in \
         <b data-count=\"sessions\">{}</b> sessions{span}.</p>\n</header>\n<dl class=\"totals\">\n",
        report.turns.total, report.totals.sessions
    );
    for (name, words, count) in [
        ("hold", "would have been held", report.turns.hold),
        ("notify", "told to the person", report.turns.notify),
        ("pass", "passed without a word", report.turns.pass),
        ("not-judged", "not judged", report.turns.not_judged),
    ] {
        let share = share(count, report.turns.total);
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
            "<p class=\"note\">Held when they took place: <b data-count=\"held-then\">{}</b> turns. Of these this policy \
             would hold <b data-count=\"held-then-now\">{}</b>.</p>",
            held.turns, held.hold_now
        );
    }
}

/// One column for each day that had turns; many days make narrow columns.
fn over_time(page: &mut String, report: &Report) {
    let days: Vec<&DayCount> = report.days.iter().filter(|count| count.day.is_some()).collect();
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
        "</svg>\n<p class=\"legend\"><span class=\"hold\">held</span> <span class=\"notify\">told</span> \
         <span class=\"pass\">passed</span> <span class=\"not-judged\">not judged</span> \
         <span class=\"most\">days with turns only; the highest has {most}</span></p>\n</section>\n"
    );
}

fn column(page: &mut String, count: &DayCount, x: f64, step: f64, most: u64) {
    let Counts { total, hold, notify, pass, not_judged } = count.turns;
    let day = count.day.as_deref().unwrap_or_default();
    let _ = write!(
        page,
        "<g data-day=\"{day}\"><title>{day}: {total} turns, {hold} held, {notify} told, {pass} passed, {not_judged} not \
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
        page.push_str("<p>No rule had anything to say.</p>\n</section>\n");
        return;
    }
    let most = report.rules.iter().map(|count| count.hold + count.notify).max().unwrap_or(1).max(1);
    page.push_str("<table class=\"bars\">\n<tr><th>rule</th><th></th><th>held</th><th>told</th></tr>\n");
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

fn holds(page: &mut String, report: &Report) {
    let _ = writeln!(
        page,
        "<section id=\"holds\">\n<h2>Turns that would have been held</h2>\n\
         <form id=\"filter\" hidden>\n<input type=\"search\" name=\"words\" placeholder=\"Prompt, command, file…\" \
         aria-label=\"Words\">\n<select name=\"rule\" aria-label=\"Rule\"><option value=\"\">every rule</option>{}</select>\n\
         <select name=\"action\" aria-label=\"Action\"><option value=\"\">every action</option>{}</select>\n\
         <select name=\"agent\" aria-label=\"Agent\"><option value=\"\">every agent</option>{}</select>\n\
         <output></output>\n</form>",
        options(report.rules.iter().filter(|count| count.hold > 0).map(|count| count.rule.name().to_owned())),
        options(report.actions.iter().filter(|count| count.required > 0).map(|count| count.action.clone())),
        options(report.agents.iter().map(|count| count.agent.name().to_owned())),
    );
    if report.holds.is_empty() {
        page.push_str("<p>None.</p>\n");
    }
    let left_out = report.holds.len().saturating_sub(HOLDS_SHOWN);
    if left_out > 0 {
        let _ = writeln!(
            page,
            "<p class=\"note\">The last {HOLDS_SHOWN}; <code>--json</code> has {left_out} more.</p>"
        );
    }
    for hold in report.holds.iter().rev().take(HOLDS_SHOWN) {
        one_hold(page, hold);
    }
    page.push_str("</section>\n");
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
        "<details class=\"hold\" data-agent=\"{}\" data-rules=\"{}\" data-actions=\"{}\">\n<summary><time>{}</time> \
         <span class=\"agent\">{}</span> <span class=\"reason\">{}</span>{} <span class=\"prompt\">{}</span></summary>\n",
        hold.agent.name(),
        rules.join(" "),
        required.join("\n"),
        when(hold),
        hold.agent.name(),
        escaped(&verdict.reason),
        if hold.held_then { " <span class=\"then\">held then too</span>" } else { "" },
        escaped(&hold.prompt),
    );
    let _ = writeln!(page, "<p class=\"place\"><code>{}</code></p>", escaped(&place(hold)));
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
            ActionState::Reported => "told",
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
}
