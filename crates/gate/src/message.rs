//! What an agent reads when it is held (R9): what changed, the next steps in their order, observations, how to say
//! that a step cannot be done. At most 2,000 characters; clients show it to people too.

use crate::inputs::{CheckOutcome, CheckResult};
use crate::policy::{Action, Policy};
use crate::silence::ASKED_BEFORE;
use crate::verdict::{ActionState, ActionVerdict, ChangedCategory, Observation};

/// The first line of a hold.
pub const HEADER: &str = "[checkstone] Context-aware checkpoint";

const LONGEST: usize = 2000;

/// What the message is made of.
pub(crate) struct Parts<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) changed: &'a [ChangedCategory],
    pub(crate) actions: &'a [ActionVerdict],
    pub(crate) observations: &'a [Observation],
    /// Nothing is there to commit for: the reminder and what the policy always asks for.
    pub(crate) only_prose: bool,
    /// A sentence before the steps.
    pub(crate) sentence: Option<&'a str>,
}

pub(crate) fn compose(parts: &Parts<'_>) -> String {
    let mut before = vec![HEADER.to_owned()];
    if !parts.changed.is_empty() {
        before.push(summary(parts.changed));
    }
    before.extend(parts.sentence.map(str::to_owned));
    let steps = steps(parts);
    if !steps.is_empty() {
        let numbered = steps.iter().enumerate().map(|(place, step)| format!("{}. {step}", place + 1));
        before.push(format!("Required actions:\n{}", numbered.collect::<Vec<_>>().join("\n")));
    }
    let mut after = Vec::new();
    if parts.policy.gate.capture {
        after.push(parts.policy.messages.capture.clone());
    }
    let open: Vec<&str> = parts
        .actions
        .iter()
        .filter(|action| action.state == ActionState::Required)
        .map(|action| action.id.as_str())
        .collect();
    if parts.policy.gate.waivers && !open.is_empty() {
        after.push(format!(
            "If a step cannot be done here, say so in a line of its own:\n`checkstone: cannot ACTION: REASON` \
             (actions: {}).",
            open.join(", ")
        ));
    }
    let taken = before.iter().chain(&after).map(|section| section.chars().count() + 2).sum();
    let observations = observations(parts.observations, LONGEST.saturating_sub(taken));
    let sections: Vec<String> = before.into_iter().chain(observations).chain(after).collect();
    text::shortened(&sections.join("\n\n"), LONGEST)
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
pub(crate) fn sentence(text: &str) -> String {
    text::shortened(&format!("{HEADER}\n\n{text}"), LONGEST)
}

/// The generic checkpoint, where nothing is known.
pub(crate) fn generic(policy: &Policy) -> String {
    let capture =
        if policy.gate.capture { format!("\n\n{}", policy.messages.capture) } else { String::new() };
    sentence(&format!("{}{capture}", policy.messages.generic))
}

/// The commit gate of the second stop.
pub(crate) fn uncommitted(policy: &Policy, dirty: &[String]) -> String {
    const MOST: usize = 10;
    let mut shown: Vec<String> = dirty.iter().take(MOST).map(|path| format!("`{path}`")).collect();
    if dirty.len() > MOST {
        shown.push(format!("and {} more", dirty.len() - MOST));
    }
    sentence(&format!("{}\n\nChanged: {}", policy.messages.uncommitted, shown.join(", ")))
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

/// As many as fit; the rest are counted.
fn observations(observations: &[Observation], room: usize) -> Option<String> {
    const COUNTED: usize = 24;
    if observations.is_empty() {
        return None;
    }
    let mut text = "Observations:".to_owned();
    let mut left = room.saturating_sub(text.chars().count() + 2);
    for (number, observation) in observations.iter().enumerate() {
        let line = format!("\n- {}", observation.text);
        let length = line.chars().count();
        let is_last = number + 1 == observations.len();
        if length + if is_last { 0 } else { COUNTED } > left {
            text.push_str(&format!("\n- … and {} more", observations.len() - number));
            break;
        }
        left -= length;
        text.push_str(&line);
    }
    Some(text)
}

fn summary(changed: &[ChangedCategory]) -> String {
    const MOST: usize = 12;
    let mut names: Vec<String> = changed
        .iter()
        .take(MOST)
        .map(|changed| match changed.files.len() {
            1 => format!("{} (1 file)", changed.category),
            count => format!("{} ({count} files)", changed.category),
        })
        .collect();
    if changed.len() > MOST {
        names.push(format!("and {} more", changed.len() - MOST));
    }
    format!("Changed: {}", names.join(", "))
}

/// The steps that are required, in the policy's order, and committing last.
fn steps(parts: &Parts<'_>) -> Vec<String> {
    let required: Vec<(&Action, &str)> = parts
        .actions
        .iter()
        .filter(|action| action.state == ActionState::Required)
        .filter_map(|action| Some((parts.policy.action(&action.id)?, action.say.as_str())))
        .collect();
    let mut steps: Vec<String> = Vec::new();
    for (action, say) in &required {
        let follows = action
            .after
            .as_ref()
            .zip(action.say_after.as_ref())
            .filter(|(before, _)| required.iter().any(|(other, _)| &other.id == *before));
        match (follows, steps.last_mut()) {
            (Some((_, addition)), Some(step)) => *step = format!("{step} {addition}"),
            _ => steps.push((*say).to_owned()),
        }
    }
    if parts.policy.gate.commit && !parts.only_prose && !steps.is_empty() {
        let before = match steps.len() {
            1 => "step 1 is".to_owned(),
            last => format!("steps 1-{last} are"),
        };
        steps.push(parts.policy.messages.commit.replace("{steps}", &before));
    }
    steps
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

    /// H8: 61 s → 2m, 121 s → 3m.
    #[test]
    fn h8_the_window_of_the_logs() {
        let shown: Vec<_> = [0, 61, 120, 121, 181].map(|seconds| log_window(Some(seconds * 1000))).into();
        assert_eq!(shown, ["2m", "2m", "2m", "3m", "4m"]);
        assert_eq!(log_window(None), "2m");
    }
}
