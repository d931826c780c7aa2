//! Plan drift (R7): the work item's plan names the files that it means to change; where none of them was
//! changed, the agent may be working on something else.

use super::{Expectation, Seen};
use crate::changed::Changed;
use crate::inputs::PlanFile;
use crate::verdict::{Evidence, Observation, Rule};

/// The plan's files; what would satisfy the rule is that at least one of them changed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Planned<'a> {
    pub(crate) slug: &'a str,
}

/// `None` if there is no plan, it has no table of files, or nothing changed.
pub(crate) fn expectation<'a>(
    plan: Option<&'a PlanFile>,
    changed: &[Changed],
) -> Option<Expectation<Planned<'a>>> {
    let plan = plan?;
    let planned = planned_files(&plan.text);
    if planned.is_empty() || changed.is_empty() {
        return None;
    }
    let overlap = changed.iter().find(|file| planned.iter().any(|path| is_planned(&file.path, path)));
    let seen = match overlap {
        Some(file) => Seen::Evidence(Evidence { command: file.path.clone(), line: None }),
        None => Seen::Nothing,
    };
    Some(Expectation { subject: Planned { slug: &plan.slug }, seen })
}

pub(crate) fn observation(expectation: &Expectation<Planned<'_>>) -> Option<Observation> {
    let text = format!(
        "Active work item `{}` expects changes in different files — verify you are working on the right task",
        expectation.subject.slug
    );
    expectation.speaks().then(|| Observation::new(Rule::PlanDrift, text, None))
}

/// A planned path may be a folder.
fn is_planned(changed: &str, planned: &str) -> bool {
    let planned =
        planned.trim_start_matches("./").trim_end_matches('/').trim_end_matches("/**").trim_end_matches("/*");
    changed == planned || changed.strip_prefix(planned).is_some_and(|rest| rest.starts_with('/'))
}

/// The paths in the table under the heading “Files to Change”: back-ticked or plain, with notes such as `(NEW)`.
fn planned_files(plan: &str) -> Vec<String> {
    let mut files = Vec::new();
    let mut inside = false;
    for line in plan.lines() {
        let line = line.trim();
        if line.starts_with('#') {
            inside = line.trim_start_matches('#').trim().to_lowercase().starts_with("files to change");
            continue;
        }
        let Some(cell) = line.strip_prefix('|').and_then(|row| row.split('|').next()).filter(|_| inside)
        else {
            continue;
        };
        let cell = cell.trim();
        let path = match cell.split('`').nth(1) {
            Some(quoted) => quoted.trim(),
            None => cell.split_whitespace().next().unwrap_or_default(),
        };
        let is_rule = path.chars().all(|character| matches!(character, '-' | ':' | ' '));
        // The table's own heading is a word, not a path.
        let is_path = path.contains(['/', '.']) && !is_rule;
        if is_path && !files.iter().any(|known| known == path) {
            files.push(path.to_owned());
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    /// E13: back-ticked paths, notes, alignment rows, other tables.
    #[test]
    fn e13_the_table_of_files_is_read() {
        let plan = "# Plan\n\n## Files to Change\n\n| File | Change |\n| --- | :--: |\n| `src/a.py` | edit |\n\
                    | `src/new.py` (NEW) | add |\n| docs/b.md | words |\n| **`tests/`** | more |\n\n\
                    ## Risks\n| `other/c.py` | no |\n";
        assert_eq!(planned_files(plan), ["src/a.py", "src/new.py", "docs/b.md", "tests/"]);
        assert!(planned_files("# Plan\nno table").is_empty());
    }

    #[test]
    fn a_folder_in_the_plan_covers_its_files() {
        assert!(is_planned("tests/a/b.py", "tests/"));
        assert!(is_planned("src/a.py", "./src/a.py"));
        assert!(is_planned("src/x/y.py", "src/**"));
        assert!(!is_planned("tests2/a.py", "tests"));
    }
}
