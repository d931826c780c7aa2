//! How a workflow is called, and how its file is called after it. Names come from outside: whatever they are, the file
//! lies in the state directory (P9).

use std::fmt;

use serde::Serialize;
use sha2::{Digest, Sha256};

/// File systems allow 255 bytes; what we put around a name must fit as well.
const LONGEST: usize = 180;

/// The feature that would take the file of the workflow without one.
const PLAIN: &str = "checkpoint";

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum NameError {
    #[error(
        "the name of a {part} is empty, or nothing is left of it as a file name: give it letters or digits"
    )]
    Empty { part: &'static str },
    #[error("the name of a {part} may have at most {LONGEST} bytes: choose a shorter one")]
    TooLong { part: &'static str },
    #[error(
        "`{name}` is a path, not the name of a {part}: leave out `..`, a leading `/` and control characters"
    )]
    Path { part: &'static str, name: String },
    #[error("`{name}` is not the name of a command: use letters, digits, `-`, `_` and `.`")]
    Command { name: String },
}

/// A command, and the feature that it works on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Name {
    pub(crate) command: String,
    pub(crate) feature: Option<String>,
}

impl Name {
    pub fn new(command: &str, feature: Option<&str>) -> Result<Self, NameError> {
        if command.is_empty() {
            return Err(NameError::Empty { part: "command" });
        }
        let is_plain = |character: char| character.is_alphanumeric() || "-_.".contains(character);
        if command.contains("..") || command.starts_with('.') || !command.chars().all(is_plain) {
            return Err(NameError::Command { name: command.to_owned() });
        }
        check_length("command", command)?;
        if let Some(feature) = feature {
            check_length("feature", feature)?;
            let climbs = feature.split(['/', '\\']).any(|part| part == "..");
            let absolute = feature.starts_with(['/', '\\']);
            if climbs || absolute || feature.chars().any(char::is_control) {
                return Err(NameError::Path { part: "feature", name: feature.to_owned() });
            }
            if file_part(feature).trim_matches(['-', ' ', '.']).is_empty() {
                return Err(NameError::Empty { part: "feature" });
            }
        }
        Ok(Self { command: command.to_owned(), feature: feature.map(ToOwned::to_owned) })
    }

    pub fn command(&self) -> &str {
        &self.command
    }

    pub fn feature(&self) -> Option<&str> {
        self.feature.as_deref()
    }

    /// The file's name without `.json`, as every tool of this format builds it. Two workflows may have the same.
    pub(crate) fn usual_stem(&self) -> String {
        let feature = self.feature.as_deref().map_or_else(|| PLAIN.to_owned(), file_part);
        format!("{}-{feature}", file_part(&self.command))
    }

    /// The name for the one that comes second where two have the same.
    pub(crate) fn other_stem(&self) -> String {
        let digest = Sha256::new()
            .chain_update(&self.command)
            .chain_update([0])
            .chain_update(self.feature.as_deref().unwrap_or_default())
            .finalize();
        format!("{}~{}", self.usual_stem(), text::head(&text::hexadecimal(&digest), 8))
    }

    /// Its usual file is the one of the workflow without a feature, which other tools look for there.
    pub(crate) fn gives_way(&self) -> bool {
        self.feature.as_deref().is_some_and(|feature| file_part(feature) == PLAIN)
    }

    /// Whether what a file says about itself is this workflow. A file that says nothing is the one its name says.
    pub(crate) fn is_of(&self, command: Option<&str>, feature: Option<&str>) -> bool {
        let same_command = command.is_none_or(|command| command == self.command);
        let same_feature = match (feature, &self.feature) {
            (Some(theirs), Some(ours)) => theirs == ours,
            (Some(_), None) => false,
            (None, None) => true,
            (None, Some(_)) => !self.gives_way(),
        };
        same_command && same_feature
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.feature {
            Some(feature) => write!(formatter, "{} ({feature})", self.command),
            None => formatter.write_str(&self.command),
        }
    }
}

fn check_length(part: &'static str, name: &str) -> Result<(), NameError> {
    if name.len() > LONGEST { Err(NameError::TooLong { part }) } else { Ok(()) }
}

/// A name as a part of a file name.
fn file_part(name: &str) -> String {
    name.replace(['/', '\\'], "-")
        .replace("..", "")
        .chars()
        .filter(|character| !character.is_control() && !"<>:\"|?*".contains(*character))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(command: &str, feature: Option<&str>) -> Name {
        Name::new(command, feature).unwrap()
    }

    #[test]
    fn files_are_named_as_other_tools_name_them() {
        assert_eq!(name("design", None).usual_stem(), "design-checkpoint");
        assert_eq!(name("design", Some("test-feature")).usual_stem(), "design-test-feature");
        assert_eq!(name("design", Some("feature/BAS-6")).usual_stem(), "design-feature-BAS-6");
        assert_eq!(name("design", Some("a<b>:\"|?*c..d")).usual_stem(), "design-abcd");
    }

    /// P2
    #[test]
    fn p2_workflows_with_the_same_usual_file_have_others_of_their_own() {
        let pairs = [
            (name("design", None), name("design", Some("checkpoint"))),
            (name("a-b", Some("c")), name("a", Some("b-c"))),
            (name("design", Some("a/b")), name("design", Some("a-b"))),
        ];
        for (one, other) in pairs {
            assert_eq!(one.usual_stem(), other.usual_stem());
            assert_ne!(one.other_stem(), other.other_stem());
        }
    }

    /// P9
    #[test]
    fn p9_paths_are_no_names() {
        for feature in
            ["../x", "a/../b", "/etc/passwd", "..\\x", "a\0b", "a\nb", "", "..", "///", "?*", "-", "."]
        {
            assert!(Name::new("design", Some(feature)).is_err(), "{feature:?}");
        }
        for command in ["", "..", "../x", "a/b", ".hidden", "a b", "a\0", "a..b"] {
            assert!(Name::new(command, None).is_err(), "{command:?}");
        }
        assert!(Name::new("design", Some(&"x".repeat(181))).is_err());
    }
}
