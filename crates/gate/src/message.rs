//! What an agent reads when it is held (R9): what changed, the next steps in their order, observations, how to say
//! that a step cannot be done. At most 2,000 characters; clients show it to people too.

use transcript::OWN_PREFIX;

use crate::policy::{Action, Policy};
use crate::verdict::{ActionState, ActionVerdict, ChangedCategory, Observation};

/// The first line of a hold.
pub(crate) fn header() -> String {
    format!("{OWN_PREFIX} Context-aware checkpoint")
}

const LONGEST: usize = 2000;

/// What the message is made of.
pub(crate) struct Parts<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) changed: &'a [ChangedCategory],
    pub(crate) actions: &'a [ActionVerdict],
    pub(crate) observations: &'a [Observation],
    /// A sentence in place of steps: all clear, or nothing but prose.
    pub(crate) instead: Option<&'a str>,
    /// How long the turn took, for the window of the logs.
    pub(crate) elapsed_ms: Option<u64>,
}

pub(crate) fn compose(parts: &Parts<'_>) -> String {
    let mut sections = vec![header()];
    if !parts.changed.is_empty() {
        let names: Vec<String> = parts.changed.iter().map(summary).collect();
        sections.push(format!("Changed: {}", names.join(", ")));
    }
    if let Some(sentence) = parts.instead {
        sections.push(sentence.to_owned());
    }
    let steps = steps(parts);
    if !steps.is_empty() {
        let numbered = steps.iter().enumerate().map(|(place, step)| format!("{}. {step}", place + 1));
        sections.push(format!("Required actions:\n{}", numbered.collect::<Vec<_>>().join("\n")));
    }
    if parts.policy.gate.capture {
        sections.push(parts.policy.messages.capture.clone());
    }
    let open: Vec<&str> = parts
        .actions
        .iter()
        .filter(|action| action.state == ActionState::Required)
        .map(|action| action.id.as_str())
        .collect();
    if parts.policy.gate.waivers && !open.is_empty() {
        sections.push(format!(
            "If a step cannot be done here, say so in a line of its own: `checkstone: cannot <action>: <reason>` \
             (actions: {}).",
            open.join(", ")
        ));
    }
    insert_observations(&mut sections, parts, !steps.is_empty());
    sections.join("\n\n")
}

/// The generic checkpoint, where nothing is known.
pub(crate) fn generic(policy: &Policy) -> String {
    let capture =
        if policy.gate.capture { format!("\n\n{}", policy.messages.capture) } else { String::new() };
    format!("{}\n\n{}{capture}", header(), policy.messages.generic)
}

/// As many as fit; the rest are counted. They stand behind the steps.
fn insert_observations(sections: &mut Vec<String>, parts: &Parts<'_>, with_steps: bool) {
    if parts.observations.is_empty() {
        return;
    }
    let place = 1
        + usize::from(!parts.changed.is_empty())
        + usize::from(parts.instead.is_some())
        + usize::from(with_steps);
    let taken: usize = sections.iter().map(|section| section.chars().count() + 2).sum();
    let mut left = LONGEST.saturating_sub(taken + 40);
    let mut text = "Observations:".to_owned();
    for (number, observation) in parts.observations.iter().enumerate() {
        let line = format!("\n- {}", observation.text);
        let length = line.chars().count();
        if length > left {
            text.push_str(&format!("\n- … and {} more", parts.observations.len() - number));
            break;
        }
        left -= length;
        text.push_str(&line);
    }
    sections.insert(place.min(sections.len()), text);
}

fn summary(changed: &ChangedCategory) -> String {
    match changed.files.len() {
        1 => format!("{} (1 file)", changed.category),
        count => format!("{} ({count} files)", changed.category),
    }
}

/// The steps that are required, in the policy's order, and committing last.
fn steps(parts: &Parts<'_>) -> Vec<String> {
    let required: Vec<&Action> = parts
        .actions
        .iter()
        .filter(|action| action.state == ActionState::Required)
        .filter_map(|action| parts.policy.action(&action.id))
        .collect();
    let mut steps: Vec<String> = Vec::new();
    for action in &required {
        let follows = action
            .after
            .as_ref()
            .zip(action.say_after.as_ref())
            .filter(|(before, _)| required.iter().any(|other| &other.id == *before));
        match (follows, steps.last_mut()) {
            (Some((_, addition)), Some(step)) => *step = format!("{step} {addition}"),
            _ => steps.push(said(action, parts.elapsed_ms)),
        }
    }
    if parts.policy.gate.commit && !steps.is_empty() {
        steps.push(parts.policy.messages.commit.replace("{last}", &steps.len().to_string()));
    }
    steps
}

/// The instruction, with the window of the logs filled in.
pub(crate) fn said(action: &Action, elapsed_ms: Option<u64>) -> String {
    action.say.replace("{since}", &log_window(elapsed_ms))
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
