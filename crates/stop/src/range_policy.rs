//! The policy that a pull request is judged by: the one of the branch that it goes to. Whoever is held by a policy must not be able
//! to loosen it, on a pull request as in a turn; what it changes counts once it is merged.

use std::path::Path;

use change_set::BytePath;
use changes::{GitProgram, Repository};

use crate::policy_files::{FILE_NAME, FoundTexts, PolicyTexts};
use crate::prompt_policy::differences;

/// The policies at the two ends of a range.
#[derive(Clone, Debug)]
pub struct RangePolicies {
    /// `None` if there was none.
    pub base: Option<PolicyTexts>,
    pub head: Option<PolicyTexts>,
    /// What the head changes of it, in words.
    pub changes: Vec<String>,
}

impl RangePolicies {
    /// As the two commits have the repository's file; the user's own part is the same for both.
    pub fn read(
        repository: &Repository,
        git: &GitProgram,
        (base, head): (&str, &str),
        user_file: Option<&Path>,
    ) -> Result<Self, changes::Error> {
        let at = |commit: &str| -> Result<FoundTexts, changes::Error> {
            let texts = changes::committed_texts(repository, git, commit, &[&BytePath::from(FILE_NAME)])?;
            Ok(FoundTexts::with_own(&repository.root, user_file, Ok(texts.into_iter().next().flatten())))
        };
        let (base, head) = (at(base)?, at(head)?);
        let changes = differences(&base.texts().texts, head.texts());
        Ok(Self { base: base.policy, head: head.policy, changes })
    }
}
