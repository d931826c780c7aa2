//! A hold in its parts, so that those of several repositories can be said as one. At most 2,000 characters; clients show it to
//! people too.

use text::listed;

pub(crate) const LONGEST: usize = 2000;

/// What stands between an action and the folder of its repository: `python-tests in ../lib`.
pub(crate) const IN: &str = " in ";

/// An action as the agent is told of it, and names it if it cannot be done.
pub(crate) fn name_in(action: &str, folder: Option<&str>) -> String {
    folder.map_or_else(|| action.to_owned(), |folder| format!("{action}{IN}{folder}"))
}

/// A hold in its parts, so that those of several repositories can be said as one.
#[derive(Clone, Debug, PartialEq)]
pub struct HoldMessage {
    pub(crate) headline: String,
    /// What changed, and what the policy's own checks said.
    pub(crate) before: Vec<String>,
    /// Above the steps.
    pub(crate) title: &'static str,
    pub(crate) steps: Vec<String>,
    /// What is said of committing after the steps.
    pub(crate) commit: Option<String>,
    pub(crate) observations: Vec<String>,
    pub(crate) capture: Option<String>,
    /// The names of the actions that the agent can say it cannot do.
    pub(crate) waivable: Vec<String>,
    pub(crate) unknown_waivers: Vec<String>,
}

impl HoldMessage {
    /// One message for all of them: a section for each, and one numbering of the steps.
    pub(crate) fn joined(holds: &[&Self]) -> String {
        let first = holds.first().copied();
        let mut after: Vec<String> = first.and_then(|hold| hold.capture.clone()).into_iter().collect();
        let waivable: Vec<&str> = holds.iter().flat_map(|hold| &hold.waivable).map(String::as_str).collect();
        let unknown: Vec<&String> = holds.iter().flat_map(|hold| &hold.unknown_waivers).collect();
        if !waivable.is_empty() {
            let unknown = match unknown.as_slice() {
                [] => String::new(),
                [name] => format!("{} is not an action here. ", listed([name])),
                names => format!("{} are not actions here. ", listed(names)),
            };
            after.push(format!(
                "{unknown}If a step cannot be done here, say so on a line of its own:\n`checkstone: cannot ACTION: REASON` \
                 (actions: {}).",
                waivable.join(", ")
            ));
        }
        let mut numbered = 0;
        let mut sections: Vec<(Vec<String>, &[String])> = Vec::new();
        for hold in holds {
            let mut section = hold.before.clone();
            section.extend(hold.numbered(&mut numbered));
            sections.push((section, &hold.observations));
        }
        let headline = first.map(|hold| hold.headline.clone()).unwrap_or_default();
        let length = |text: &String| text.chars().count() + 2;
        let taken: usize = sections.iter().flat_map(|(section, _)| section).chain(&after).map(length).sum();
        let mut room = LONGEST.saturating_sub(taken + length(&headline));
        let mut all = vec![headline];
        for (section, observed) in sections {
            all.extend(section);
            let observed = observations(observed, room);
            room = room.saturating_sub(observed.as_ref().map_or(0, length));
            all.extend(observed);
        }
        all.extend(after);
        text::shortened(&all.join("\n\n"), LONGEST)
    }

    /// The steps with their numbers, after those of other holds.
    fn numbered(&self, before: &mut usize) -> Option<String> {
        let first = *before + 1;
        let mut steps = self.steps.clone();
        if let Some(commit) = &self.commit {
            let those = match steps.len() {
                1 => format!("step {first} is"),
                count => format!("steps {first}-{} are", *before + count),
            };
            steps.push(commit.replace("{steps}", &those));
        }
        let lines = steps.iter().enumerate().map(|(place, step)| format!("{}. {step}", first + place));
        let lines: Vec<String> = lines.collect();
        *before += lines.len();
        (!lines.is_empty()).then(|| format!("{}{}", self.title, lines.join("\n")))
    }
}

const OBSERVATIONS: &str = "Observations:";

fn observations(lines: &[String], room: usize) -> Option<String> {
    (!lines.is_empty()).then(|| format!("{OBSERVATIONS}\n{}", observation_lines(lines, room)))
}

/// As many as fit below a title; the rest are counted.
pub(crate) fn observation_lines(lines: &[String], room: usize) -> String {
    const COUNTED: usize = 24;
    let mut told: Vec<String> = Vec::new();
    let mut left = room.saturating_sub(OBSERVATIONS.chars().count() + 2);
    for (number, line) in lines.iter().enumerate() {
        let line = format!("- {line}");
        // And the line break before it.
        let length = line.chars().count() + 1;
        let is_last = number + 1 == lines.len();
        if length + if is_last { 0 } else { COUNTED } > left {
            told.push(format!("- … and {} more", lines.len() - number));
            break;
        }
        left -= length;
        told.push(line);
    }
    told.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
