//! What an agent reads when it is held: what changed, numbered steps, observations, how to say that a step cannot be done;
//! and the short notices for the person. Where the policy keeps to the letter (`turn_only`), it is R9's message. At most 2,000
//! characters; clients show it to people too.

use outputs::Summary;
use text::OWN_PREFIX;
use text::{listed, visible};

use crate::hold_message::{HoldMessage, LONGEST, name_in, observation_lines};
use crate::inputs::{CheckOutcome, CheckResult};
use crate::policy::Policy;
use crate::steps::Step;
use crate::verdict::{ActionState, ActionVerdict, ChangedCategory, FailureText, Observation, Verdict};

/// The first line of R9's message.
pub const HEADER: &str = "[checkstone] Context-aware checkpoint";

/// What the message is made of.
pub(crate) struct Parts<'a> {
    pub(crate) policy: &'a Policy,
    /// Where the agent has to go for it, if it is not where it works.
    pub(crate) folder: Option<&'a str>,
    /// What is the matter, in the first line.
    pub(crate) headline: &'a str,
    pub(crate) changed: &'a [ChangedCategory],
    pub(crate) steps: &'a [Step],
    pub(crate) observations: &'a [Observation],
    /// Nothing is there to commit for: the reminder and what the policy always asks for.
    pub(crate) only_prose: bool,
    /// What the policy's own checks said, before everything else.
    pub(crate) checks: Option<&'a str>,
    /// A sentence before the steps.
    pub(crate) sentence: Option<&'a str>,
    /// What the agent said that it cannot do, and no action is called.
    pub(crate) unknown_waivers: &'a [String],
}

/// A hold of one repository.
pub(crate) fn hold_message(parts: &Parts<'_>) -> HoldMessage {
    let gate = &parts.policy.gate;
    let messages = &parts.policy.messages;
    let folder = parts.folder.map(visible);
    let folder = folder.as_deref();
    let mut waivable: Vec<String> = Vec::new();
    for action in parts.steps.iter().flat_map(|step| &step.actions).filter(|_| gate.waivers) {
        let name = name_in(action, folder);
        if !waivable.contains(&name) {
            waivable.push(name);
        }
    }
    let changed = (!parts.changed.is_empty()).then(|| summary(parts));
    let step = |step: &Step| {
        let text = match folder {
            Some(folder) => format!("In `{folder}`: {}", begun_in_a_sentence(&step.text)),
            None => step.text.clone(),
        };
        let names: Vec<String> = step.actions.iter().map(|action| name_in(action, folder)).collect();
        match gate.turn_only || names.is_empty() {
            true => text,
            false => format!("{text} ({})", names.join(", ")),
        }
    };
    HoldMessage {
        headline: match gate.turn_only {
            true => HEADER.to_owned(),
            false => format!("{OWN_PREFIX} {}", parts.headline),
        },
        before: parts
            .checks
            .map(str::to_owned)
            .into_iter()
            .chain(changed)
            .chain(parts.sentence.map(str::to_owned))
            .collect(),
        title: if gate.turn_only { "Required actions:\n" } else { "" },
        steps: parts.steps.iter().map(step).collect(),
        commit: (gate.commit && !parts.only_prose && !parts.steps.is_empty())
            .then(|| messages.commit.clone()),
        observations: match gate.turn_only {
            true => parts.observations.iter().map(|observation| visible(&observation.text)).collect(),
            false => by_cause(parts.observations),
        },
        capture: gate.capture.then(|| messages.capture.clone()),
        waivable,
        unknown_waivers: parts.unknown_waivers.to_vec(),
    }
}

/// `Run it` as it goes on after a colon.
fn begun_in_a_sentence(text: &str) -> String {
    let mut characters = text.chars();
    match (characters.next(), characters.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(characters).collect()
        }
        _ => text.to_owned(),
    }
}

/// Names the folder in what is said of a repository that the agent does not work in.
pub(crate) fn name_folder(folder: Option<&str>, mut verdict: Verdict) -> Verdict {
    if let (Some(folder), Some(message), None) = (folder, &verdict.message, &verdict.hold) {
        let text = message.strip_prefix(OWN_PREFIX).map_or(message.as_str(), str::trim_start);
        let text = format!("{OWN_PREFIX} In `{}`: {text}", visible(folder));
        verdict.message = Some(text::shortened(&text, LONGEST));
    }
    verdict
}

/// What the person is told: one line if that is enough.
pub(crate) fn notice(policy: &Policy, sentence: Option<&str>, observed: &[Observation]) -> String {
    let lines = by_cause(observed);
    let text = match (sentence, lines.as_slice()) {
        (None, [line]) => line.clone(),
        (sentence, lines) => {
            let sentence = sentence.unwrap_or("Noticed at this stop:");
            let separator = if policy.gate.turn_only { "\n\n" } else { "\n" };
            // The title, which is left out, makes room for what stands between them.
            let room = LONGEST.saturating_sub(sentence.chars().count() + HEADER.chars().count());
            match lines.is_empty() {
                true => sentence.to_owned(),
                false => format!("{sentence}{separator}{}", observation_lines(lines, room)),
            }
        }
    };
    self::sentence(policy, &text)
}

/// Failures with the same sentence are one line, with what failed. Whatever a file or a command put into it, it is one line.
fn by_cause(observations: &[Observation]) -> Vec<String> {
    let mut lines: Vec<(&str, Vec<&str>)> = Vec::new();
    for observation in observations {
        let (cause, command) = match &observation.failure {
            Some(FailureText { cause, command }) => (cause.as_str(), Some(command.as_str())),
            None => (observation.text.as_str(), None),
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
    lines.into_iter().map(line).map(|line| visible(&line)).collect()
}

/// What the policy's own checks said, failures with the end of their output. They leave room for the steps.
pub(crate) fn checks(results: &[CheckResult]) -> Option<String> {
    const MOST: usize = 900;
    let failed = results.iter().filter(|check| check.outcome == CheckOutcome::Failed).count();
    let told = results.iter().map(|check| {
        let took = match check.milliseconds {
            0 => String::new(),
            milliseconds => format!(" ({:.1} s)", milliseconds as f64 / 1000.0),
        };
        let run = visible(&check.run);
        match (check.outcome, tests_in(&check.output)) {
            (CheckOutcome::Passed, Some(tests)) => format!("Tests: {tests}{took}, by `{run}`."),
            (CheckOutcome::Passed, None) => format!("`{run}` passed{took}."),
            (CheckOutcome::Failed, _) => {
                let output = text::without_colours(&check.output);
                let output = end(output.trim_end(), MOST / failed.max(1));
                let output = if output.is_empty() { " it printed nothing" } else { &format!("\n{output}") };
                format!("`{run}` FAILED{took}:{output}")
            }
            (CheckOutcome::TimedOut, _) => format!("`{run}` took too long and was stopped{took}."),
            (CheckOutcome::NotStarted, _) => format!("`{run}` could not be started."),
        }
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| told.join("\n"))
}

/// How many tests ran, by the summary in an output.
fn tests_in(output: &str) -> Option<String> {
    let mut scan = outputs::Scan::new();
    scan.feed(output);
    match scan.finish().summary()? {
        Summary::Passed { tests: Some(count) } => Some(format!("{count} passed")),
        _ => None,
    }
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
        .filter(|action| action.state == ActionState::Waived && !action.was_asked_before)
        .map(|action| format!("{} ({})", action.id, visible(action.reason.as_deref().unwrap_or_default())))
        .collect();
    (!waived.is_empty()).then(|| format!("Not done: {}", waived.join(", ")))
}

fn summary(parts: &Parts<'_>) -> String {
    const MOST: usize = 12;
    let (changed, is_letter) = (parts.changed, parts.policy.gate.turn_only);
    let mut names: Vec<String> = changed
        .iter()
        .take(MOST)
        .map(|changed| match is_letter {
            true => {
                format!("{} ({})", visible(&changed.category), text::counted(changed.files.len(), "file"))
            }
            false => format!("{} ({})", visible(&changed.category), listed(&changed.files)),
        })
        .collect();
    if changed.len() > MOST {
        names.push(format!("and {} more", changed.len() - MOST));
    }
    let place = parts.folder.map(|folder| format!(" in `{}`", visible(folder))).unwrap_or_default();
    format!("Changed{place}: {}", names.join(", "))
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
    use crate::verdict::Rule;

    #[test]
    fn errors_with_the_same_cause_are_one_line() {
        let failed = |cause: &str, command: &str| {
            Observation::of_failure(
                FailureText { cause: cause.to_owned(), command: command.to_owned() },
                None,
            )
        };
        let lines = by_cause(&[
            failed("It failed", "a"),
            Observation::new(Rule::MissingAction, "Not done (`a`)", None),
            failed("It failed", "b (`c"),
            Observation::new(Rule::MissingAction, "Not done (`b`)", None),
            failed("Another", "a"),
            Observation::new(Rule::UnresolvedError, "Without a command", None),
            Observation::new(Rule::UnresolvedError, "Without a command", None),
        ]);
        assert_eq!(
            lines,
            [
                "It failed (2 times: `a` and `b (`c`)",
                "Not done (`a`)",
                "Not done (`b`)",
                "Another (`a`)",
                "Without a command",
            ]
        );
    }

    /// H8: 61 s → 2m, 121 s → 3m.
    #[test]
    fn h8_the_window_of_the_logs() {
        let shown: Vec<_> = [0, 61, 120, 121, 181].map(|seconds| log_window(Some(seconds * 1000))).into();
        assert_eq!(shown, ["2m", "2m", "2m", "3m", "4m"]);
        assert_eq!(log_window(None), "2m");
    }
}
