//! What `checkstone status` says of the policy here and of its trust.

use std::path::Path;

use gate::policy::Policy;
use journal::Journal;
use serde::Serialize;
use stop::policy_files::PolicyTexts;
use stop::trust::Standing;
use text::counted;
use transcript::visible;

use super::super::policy::{CheckOutput, files};
use crate::asked_for::nothing_asked_for;
use crate::error::CommandError;
use crate::journal_access;
use crate::printer::{BAD, DOUBTFUL, GOOD};
use crate::repository_policy;

#[derive(Default)]
pub(super) enum PolicyState {
    #[default]
    None,
    Broken {
        texts: PolicyTexts,
        problems: Vec<String>,
        /// Of those, the first with its place.
        first: String,
        /// Whether it is the user's own file that is broken.
        is_users: bool,
    },
    Sound {
        texts: PolicyTexts,
        policy: Box<Policy>,
        standing: Standing,
        /// Why nothing is asked for here, if so.
        nothing_asked_for: Option<String>,
    },
}

impl PolicyState {
    pub(super) fn output(&self, root: Option<&Path>) -> PolicyOutput<'_> {
        let root = root.unwrap_or(Path::new(""));
        let (state, texts, presets, problems) = match self {
            Self::None => ("none", None, &[][..], &[][..]),
            Self::Broken { texts, problems, .. } => ("broken", Some(texts), &[][..], problems.as_slice()),
            Self::Sound { texts, policy, .. } => ("sound", Some(texts), policy.presets.as_slice(), &[][..]),
        };
        let files = texts.map(|texts| files(root, texts)).unwrap_or_default();
        PolicyOutput { state, files, presets, problems }
    }

    pub(super) fn trust(&self) -> TrustOutput<'_> {
        match self {
            Self::Sound { standing, .. } => TrustOutput {
                state: standing.word(),
                ignored: standing.ignored.iter().map(CheckOutput::of).collect(),
            },
            _ => TrustOutput { state: "untrusted", ignored: Vec::new() },
        }
    }

    /// Whether this sentence is about a mistake that is shown already.
    pub(super) fn explains(&self, sentence: &str) -> bool {
        let Self::Broken { problems, .. } = self else { return false };
        problems.iter().any(|problem| sentence.contains(problem.as_str()))
    }

    pub(super) fn sentence(&self) -> String {
        match self {
            Self::None => "none, so every stop passes".to_owned(),
            Self::Broken { problems, first, .. } => {
                let more = match problems.len() {
                    0 | 1 => String::new(),
                    all => format!(" (and {}: `checkstone policy check`)", counted(all - 1, "more mistake")),
                };
                format!("{BAD}broken{BAD:#}: {}{more}", visible(first))
            }
            Self::Sound { texts, policy, .. } => {
                let mut from: Vec<String> = texts.texts.iter().map(|text| text.name.clone()).collect();
                from.extend(policy.presets.iter().map(|preset| format!("preset {preset}")));
                let nothing = self.nothing_asked_for().map(|why| format!(": {why} (`checkstone doctor`)"));
                format!("{}{}", from.join(", "), nothing.unwrap_or_default())
            }
        }
    }

    pub(super) fn nothing_asked_for(&self) -> Option<&str> {
        match self {
            Self::Sound { nothing_asked_for, .. } => nothing_asked_for.as_deref(),
            Self::None | Self::Broken { .. } => None,
        }
    }

    /// Only where there is something that needs it.
    pub(super) fn trust_sentence(&self) -> Option<String> {
        let Self::Sound { standing, .. } = self else { return None };
        if standing.trust == journal::Trust::Trusted {
            return Some(format!("{GOOD}given{GOOD:#}"));
        }
        let mut ignored = Vec::new();
        if !standing.ignored.is_empty() {
            ignored.push(counted(standing.ignored.len(), "check"));
        }
        if standing.ignores_snapshots {
            ignored.push("snapshots at the start of turns".to_owned());
        }
        if ignored.is_empty() {
            return None;
        }
        let why = match standing.trust {
            journal::Trust::Changed => "withdrawn, because the file has changed",
            _ => "not given",
        };
        let ignored = ignored.join(" and ");
        Some(format!("{DOUBTFUL}{why}{DOUBTFUL:#}: {ignored} ignored, see `checkstone trust`"))
    }

    pub(super) fn of(root: Option<&Path>, journal: Option<&mut Journal>) -> Result<Self, CommandError> {
        let Some(root) = root else { return Ok(Self::None) };
        let Some(texts) = repository_policy::of(root) else { return Ok(Self::None) };
        let policy = match texts.load() {
            Ok(policy) => policy,
            Err(problems) => {
                let first = problems.0.first().map(repository_policy::located).unwrap_or_default();
                let is_users = repository_policy::are_users(&problems.0);
                let problems = problems.0.iter().map(ToString::to_string).collect();
                return Ok(Self::Broken { texts, problems, first, is_users });
            }
        };
        let standing = journal_access::standing(journal, &texts, &policy)?;
        let nothing_asked_for = nothing_asked_for(root, &policy).map(|(why, _)| why);
        Ok(Self::Sound { texts, policy: Box::new(policy), standing, nothing_asked_for })
    }
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Policy"))]
pub(super) struct PolicyOutput<'a> {
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["none", "sound", "broken"])))]
    state: &'static str,
    /// The files that it comes from, in the order in which they apply.
    files: Vec<String>,
    presets: &'a [String],
    problems: &'a [String],
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Trust"))]
pub(super) struct TrustOutput<'a> {
    #[cfg_attr(feature = "schema", schemars(extend("enum" = ["trusted", "changed", "untrusted"])))]
    state: &'static str,
    /// What is ignored for lack of trust.
    ignored: Vec<CheckOutput<'a>>,
}
