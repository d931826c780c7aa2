//! Branch names from issue ids, and back.

use serde::Serialize;

/// A branch for an issue, as `workflow branch` prints it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IssueBranch {
    pub issue: String,
    pub branch: String,
}

/// A name of a branch that git takes, for an issue such as `BAS-6`: `feature/BAS-6`, or with a title
/// `feature/BAS-6-the-title`.
pub fn branch_name(prefix: &str, issue: &IssueId, title: Option<&str>) -> String {
    let mut name = String::new();
    for part in prefix.split('/').map(|part| plain(part, Case::Kept)).filter(|part| !part.is_empty()) {
        name.push_str(&part);
        name.push('/');
    }
    name.push_str(&issue.0);
    let title = plain(title.unwrap_or_default(), Case::Lower);
    // Long enough to be recognised, short enough for a prompt.
    let title = text::first_characters(&title, 50).trim_end_matches('-');
    if !title.is_empty() {
        name.push('-');
        name.push_str(title);
    }
    name
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    Kept,
    Lower,
}

/// Letters, digits, and single hyphens between them: nothing that git or a shell could take for something else.
fn plain(text: &str, case: Case) -> String {
    let mut plain = String::new();
    for character in text.chars() {
        if character.is_alphanumeric() {
            match case {
                Case::Kept => plain.push(character),
                Case::Lower => plain.extend(character.to_lowercase()),
            }
        } else if character == '_' && case == Case::Kept {
            plain.push(character);
        } else if !plain.is_empty() && !plain.ends_with('-') {
            plain.push('-');
        }
    }
    plain.truncate(plain.trim_end_matches('-').len());
    plain
}

/// The id of an issue: the key of its team, a hyphen, a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssueId(String);

impl IssueId {
    /// In upper case, as Linear writes it. `None` if the text is no such id.
    pub fn parse(text: &str) -> Option<Self> {
        let (team, number) = text.trim().split_once('-')?;
        let is_team = (1..=10).contains(&team.len())
            && team.starts_with(|first: char| first.is_ascii_alphabetic())
            && team.chars().all(|character| character.is_ascii_alphanumeric());
        let is_number = (1..=9).contains(&number.len())
            && !number.starts_with('0')
            && number.chars().all(|character| character.is_ascii_digit());
        (is_team && is_number).then(|| Self(format!("{}-{number}", team.to_ascii_uppercase())))
    }

    /// The issue that a branch is about: the first id at the beginning of a part of its name, as in
    /// `feature/BAS-6-the-title` or `ann/bas-6-the-title`.
    pub fn of_branch(branch: &str) -> Option<Self> {
        branch.split('/').find_map(|part| {
            let (team, rest) = part.split_once('-')?;
            let digits = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
            let (number, after) = rest.split_at(digits);
            let ends = after.is_empty() || after.starts_with(['-', '_']);
            if ends { Self::parse(&format!("{team}-{number}")) } else { None }
        })
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether its team has this key.
    pub fn is_of_team(&self, key: &str) -> bool {
        self.0.split_once('-').is_some_and(|(team, _)| team.eq_ignore_ascii_case(key))
    }
}

impl std::fmt::Display for IssueId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}
