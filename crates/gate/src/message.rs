//! What an agent reads when it is held: what changed, numbered steps, observations, how to say that a step cannot be done;
//! and the short notices for the person. Where the policy keeps to the letter (`turn_only`), it is R9's message. At most 2,000
//! characters; clients show it to people too.

use text::listed;
use transcript::OWN_PREFIX;

use crate::inputs::{CheckOutcome, CheckResult};
use crate::policy::Policy;
use crate::silence::ASKED_BEFORE;
use crate::steps::Step;
use crate::verdict::{ActionState, ActionVerdict, ChangedCategory, Observation, Rule};

/// The first line of R9's message.
pub const HEADER: &str = "[checkstone] Context-aware checkpoint";

const LONGEST: usize = 2000;

/// What the message is made of.
pub(crate) struct Parts<'a> {
    pub(crate) policy: &'a Policy,
    /// What is the matter, in the first line.
    pub(crate) headline: &'a str,
    pub(crate) changed: &'a [ChangedCategory],
    pub(crate) steps: &'a [Step],
    pub(crate) observations: &'a [Observation],
    /// Nothing is there to commit for: the reminder and what the policy always asks for.
    pub(crate) only_prose: bool,
    /// A sentence before the steps.
    pub(crate) sentence: Option<&'a str>,
    /// What the agent said that it cannot do, and no action is called.
    pub(crate) unknown_waivers: &'a [String],
}

/// A hold.
pub(crate) fn compose(parts: &Parts<'_>) -> String {
    let is_letter = parts.policy.gate.turn_only;
    let mut before = vec![match is_letter {
        true => HEADER.to_owned(),
        false => format!("{OWN_PREFIX} {}", parts.headline),
    }];
    if !parts.changed.is_empty() {
        before.push(summary(parts.changed, is_letter));
    }
    before.extend(parts.sentence.map(str::to_owned));
    if !parts.steps.is_empty() {
        let title = if is_letter { "Required actions:\n" } else { "" };
        before.push(format!("{title}{}", numbered(parts)));
    }
    let mut after = Vec::new();
    if parts.policy.gate.capture {
        after.push(parts.policy.messages.capture.clone());
    }
    let mut names: Vec<&str> = Vec::new();
    for name in parts.steps.iter().flat_map(|step| &step.actions) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    if parts.policy.gate.waivers && !names.is_empty() {
        let unknown = match parts.unknown_waivers {
            [] => String::new(),
            [name] => format!("{} is not an action here. ", listed([name])),
            names => format!("{} are not actions here. ", listed(names)),
        };
        after.push(format!(
            "{unknown}If a step cannot be done here, say so in a line of its own:\n`checkstone: cannot ACTION: REASON` \
             (actions: {}).",
            names.join(", ")
        ));
    }
    let taken = before.iter().chain(&after).map(|section| section.chars().count() + 2).sum();
    let lines: Vec<String> = match is_letter {
        true => parts.observations.iter().map(|observation| observation.text.clone()).collect(),
        false => by_cause(parts.observations),
    };
    let observations = observations(&lines, LONGEST.saturating_sub(taken));
    let sections: Vec<String> = before.into_iter().chain(observations).chain(after).collect();
    text::shortened(&sections.join("\n\n"), LONGEST)
}

/// What the person is told: one line if that is enough.
pub(crate) fn notice(policy: &Policy, sentence: Option<&str>, observed: &[Observation]) -> String {
    let lines = by_cause(observed);
    let text = match (sentence, lines.as_slice()) {
        (None, [line]) => line.clone(),
        (sentence, lines) => {
            let sentence = sentence.unwrap_or("Seen at this stop:");
            let separator = if policy.gate.turn_only { "\n\n" } else { "\n" };
            // The title, which is left out, makes room for what stands between them.
            let room = LONGEST.saturating_sub(sentence.chars().count() + HEADER.chars().count());
            let observed = observations(lines, room).unwrap_or_default();
            let observed = observed.strip_prefix(OBSERVATIONS).unwrap_or_default();
            format!("{sentence}{}{}", if observed.is_empty() { "" } else { separator }, observed.trim_start())
        }
    };
    self::sentence(policy, &text)
}

/// Failures with the same sentence are one line, with what failed.
fn by_cause(observations: &[Observation]) -> Vec<String> {
    let mut lines: Vec<(&str, Vec<&str>)> = Vec::new();
    for observation in observations {
        let text = observation.text.as_str();
        let parts = text.strip_suffix("`)").and_then(|text| text.rsplit_once(" (`"));
        let (cause, command) = match parts {
            Some((cause, command)) if observation.rule == Rule::UnresolvedError => (cause, Some(command)),
            _ => (text, None),
        };
        match lines.iter_mut().find(|(known, _)| *known == cause) {
            Some((_, commands)) => commands.extend(command),
            None => lines.push((cause, command.into_iter().collect())),
        }
    }
    let line = |(cause, commands): (&str, Vec<&str>)| match commands.len() {
        0 => cause.to_owned(),
        1 => format!("{cause} ({})", listed(commands)),
        count => format!("{cause} ({count} times: {})", listed(commands)),
    };
    lines.into_iter().map(line).collect()
}

fn numbered(parts: &Parts<'_>) -> String {
    let mut steps: Vec<String> = parts
        .steps
        .iter()
        .map(|step| match parts.policy.gate.turn_only || step.actions.is_empty() {
            true => step.text.clone(),
            false => format!("{} ({})", step.text, step.actions.join(", ")),
        })
        .collect();
    if parts.policy.gate.commit && !parts.only_prose {
        let before = match steps.len() {
            1 => "step 1 is".to_owned(),
            last => format!("steps 1-{last} are"),
        };
        steps.push(parts.policy.messages.commit.replace("{steps}", &before));
    }
    let numbered = steps.iter().enumerate().map(|(place, step)| format!("{}. {step}", place + 1));
    numbered.collect::<Vec<_>>().join("\n")
}

/// What the policy's own checks said, failures with the end of their output. They leave room for the steps.
pub(crate) fn checks(results: &[CheckResult]) -> Option<String> {
    const MOST: usize = 900;
    let failed = results.iter().filter(|check| check.outcome == CheckOutcome::Failed).count();
    let told = results.iter().map(|check| match check.outcome {
        CheckOutcome::Passed => format!("`{}` passed.", check.run),
        CheckOutcome::Failed => {
            let output = end(&check.output, MOST / failed.max(1));
            format!("`{}` FAILED. Fix failing tests before proceeding:\n{output}", check.run)
        }
        CheckOutcome::TimedOut => format!("`{}` took too long and was ended.", check.run),
        CheckOutcome::NotStarted => format!("`{}` could not be started.", check.run),
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join("\n"))
}

/// The last so many characters.
fn end(text: &str, most: usize) -> &str {
    match text.char_indices().rev().nth(most) {
        Some((at, cut)) => text.get(at + cut.len_utf8()..).unwrap_or_default(),
        None => text,
    }
}

/// One sentence, and nothing else.
pub(crate) fn sentence(policy: &Policy, text: &str) -> String {
    let text = match policy.gate.turn_only {
        true => format!("{HEADER}\n\n{text}"),
        false => format!("{OWN_PREFIX} {text}"),
    };
    text::shortened(&text, LONGEST)
}

/// The all-clear, which asks for no commit of what is committed.
pub(crate) fn all_clear(policy: &Policy, is_committed: bool) -> &str {
    let text = policy.messages.all_clear.as_str();
    let committed = text.strip_suffix("Commit if ready.").map(str::trim_end);
    committed.filter(|text| is_committed && !text.is_empty()).unwrap_or(text)
}

/// The generic checkpoint, where nothing is known.
pub(crate) fn generic(policy: &Policy) -> String {
    let capture =
        if policy.gate.capture { format!("\n\n{}", policy.messages.capture) } else { String::new() };
    sentence(policy, &format!("{}{capture}", policy.messages.generic))
}

/// The commit gate of the second stop.
pub(crate) fn uncommitted(policy: &Policy, dirty: &[String]) -> String {
    sentence(policy, &format!("{}\n\nChanged: {}", policy.messages.uncommitted, listed(dirty)))
}

/// What the agent said it cannot do, for the person.
pub(crate) fn waived(actions: &[ActionVerdict]) -> Option<String> {
    let waived: Vec<String> = actions
        .iter()
        .filter(|action| {
            action.state == ActionState::Waived && action.reason.as_deref() != Some(ASKED_BEFORE)
        })
        .map(|action| format!("{} ({})", action.id, action.reason.as_deref().unwrap_or_default()))
        .collect();
    (!waived.is_empty()).then(|| format!("Not done: {}", waived.join(", ")))
}

const OBSERVATIONS: &str = "Observations:";

/// As many as fit; the rest are counted.
fn observations(lines: &[String], room: usize) -> Option<String> {
    const COUNTED: usize = 24;
    if lines.is_empty() {
        return None;
    }
    let mut text = OBSERVATIONS.to_owned();
    let mut left = room.saturating_sub(text.chars().count() + 2);
    for (number, line) in lines.iter().enumerate() {
        let line = format!("\n- {line}");
        let length = line.chars().count();
        let is_last = number + 1 == lines.len();
        if length + if is_last { 0 } else { COUNTED } > left {
            text.push_str(&format!("\n- … and {} more", lines.len() - number));
            break;
        }
        left -= length;
        text.push_str(&line);
    }
    Some(text)
}

fn summary(changed: &[ChangedCategory], is_letter: bool) -> String {
    const MOST: usize = 12;
    let mut names: Vec<String> = changed
        .iter()
        .take(MOST)
        .map(|changed| match is_letter {
            true => format!("{} ({})", changed.category, text::counted(changed.files.len(), "file")),
            false => format!("{} ({})", changed.category, listed(&changed.files)),
        })
        .collect();
    if changed.len() > MOST {
        names.push(format!("and {} more", changed.len() - MOST));
    }
    format!("Changed: {}", names.join(", "))
}

/// The instruction, with the window of the logs filled in.
pub(crate) fn said(instruction: &str, elapsed_ms: Option<u64>) -> String {
    instruction.replace("{since}", &log_window(elapsed_ms))
}

/// H8: the turn in whole minutes, and two at the least.
fn log_window(elapsed_ms: Option<u64>) -> String {
    let minutes = elapsed_ms.unwrap_or_default().div_ceil(60_000).max(2);
    format!("{minutes}m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_with_the_same_cause_are_one_line() {
        let observed = |rule, text: &str| Observation { rule, text: text.to_owned(), line: None };
        let lines = by_cause(&[
            observed(Rule::UnresolvedError, "It failed (`a`)"),
            observed(Rule::MissingAction, "Not done (`a`)"),
            observed(Rule::UnresolvedError, "It failed (`b (`c`)"),
            observed(Rule::MissingAction, "Not done (`b`)"),
            observed(Rule::UnresolvedError, "Another (`a`)"),
            observed(Rule::UnresolvedError, "Without a command"),
            observed(Rule::UnresolvedError, "Without a command"),
        ]);
        assert_eq!(
            lines,
            [
                "It failed (`a`)",
                "Not done (`a`)",
                "It failed (`b (`c`)",
                "Not done (`b`)",
                "Another (`a`)",
                "Without a command",
            ]
        );
        let twice = [
            observed(Rule::UnresolvedError, "It failed (`a`)"),
            observed(Rule::UnresolvedError, "It failed (`b`)"),
        ];
        assert_eq!(by_cause(&twice), ["It failed (2 times: `a` and `b`)"]);
    }

    /// The last may take all the room that is left; before it there must be room to count the others.
    #[test]
    fn observations_that_do_not_fit_are_counted() {
        let lines = |lines: [&str; 2], room: usize| observations(&lines.map(str::to_owned), room).unwrap();
        let (one, two) = ("one", "two, which is longer than the line that counts");
        assert_eq!(lines([one, one], 45), "Observations:\n- one\n- one");
        assert_eq!(lines([one, one], 44), "Observations:\n- … and 2 more");
        assert_eq!(lines([one, two], 70), format!("Observations:\n- one\n- {two}"));
        assert_eq!(lines([one, two], 69), "Observations:\n- one\n- … and 1 more");
        assert_eq!(lines([one, two], 0), "Observations:\n- … and 2 more");
        assert_eq!(observations(&[], 100), None);
    }

    /// H8: 61 s → 2m, 121 s → 3m.
    #[test]
    fn h8_the_window_of_the_logs() {
        let shown: Vec<_> = [0, 61, 120, 121, 181].map(|seconds| log_window(Some(seconds * 1000))).into();
        assert_eq!(shown, ["2m", "2m", "2m", "3m", "4m"]);
        assert_eq!(log_window(None), "2m");
    }
}
