//! Links in the documents lead somewhere: the file is there, and so is the heading.

use std::collections::HashSet;
use std::path::Path;

use crate::root;

/// What is wrong with the links of one document, `name` being its path from the root.
pub(crate) fn broken(name: &str, text: &str) -> Vec<String> {
    let folder = root().join(name).parent().map(Path::to_owned).unwrap_or_default();
    let mut wrong = Vec::new();
    for target in targets(text) {
        if target.contains("://") || target.starts_with("mailto:") {
            continue;
        }
        let (path, heading) = target.split_once('#').unwrap_or((target, ""));
        let file = if path.is_empty() { root().join(name) } else { folder.join(path) };
        if !file.exists() {
            wrong.push(format!("{name}: the link `{target}` leads nowhere"));
        } else if !heading.is_empty() && path_is_markdown(&file) {
            let there = fs_err::read_to_string(&file).unwrap_or_default();
            if !anchors(&there).contains(heading) {
                wrong.push(format!("{name}: the link `{target}` names no heading"));
            }
        }
    }
    wrong
}

fn path_is_markdown(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "md")
}

/// The lines that are not inside a fenced block.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// What stands in `](…)` and in `src="…"`, outside of code.
fn targets(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in prose(text) {
        // What is between backticks is code; every other piece is not.
        for piece in line.split('`').step_by(2) {
            for (opening, closing) in [("](", ')'), ("src=\"", '"'), ("href=\"", '"')] {
                let after = piece.split(opening).skip(1);
                found.extend(after.filter_map(|rest| rest.split_once(closing)).map(|(target, _)| target));
            }
        }
    }
    found
}

/// The names that headings can be linked by: small letters, digits and hyphens for spaces.
fn anchors(text: &str) -> HashSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    headings
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept =
                title.chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
            kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_into_nothing_is_found() {
        let text = "# A title, here\n[a](README.md) [b](none.md) [c](#a-title-here) `[d](code.md)`\n```\n[e](code.md)\n```\n";
        assert_eq!(targets(text), ["README.md", "none.md", "#a-title-here"]);
        assert_eq!(anchors(text), HashSet::from(["a-title-here".to_owned()]));
        assert_eq!(broken("README.md", "[b](none.md)").len(), 1);
        assert_eq!(broken("README.md", "[b](docs/gate.md#no-such-heading)").len(), 1);
    }
}
