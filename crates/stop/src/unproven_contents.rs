//! What is unproven in a repository now, by every policy that counts there. Whoever reports it asks here.

use std::cmp::Reverse;
use std::path::Path;

use changes::Repository;
use journal::{Journal, JournalError, Standing};

use crate::policy_files::FoundTexts;
use crate::{earlier_policy, live_unproven};

/// By the policy of the repository, and by the one at the latest prompt if that is another: an agent that empties the policy
/// has not proven anything. Nothing if there is none, or a broken one. The newest first.
pub fn unproven_in(
    journal: &mut Journal,
    repository: &Repository,
    user_file: Option<&Path>,
) -> Result<Vec<Standing>, JournalError> {
    let found = FoundTexts::read(&repository.root, user_file);
    let earlier = earlier_policy(journal, &repository.root, &found)?;
    let mut unproven: Vec<Standing> = Vec::new();
    for policy in found.policy.iter().chain(&earlier).filter_map(|texts| texts.load().ok()) {
        let by_policy = live_unproven(journal, repository, &policy)?;
        let is_new = |one: &Standing| {
            !unproven.iter().any(|known| (&known.version, &known.action) == (&one.version, &one.action))
        };
        let new: Vec<Standing> = by_policy.into_iter().filter(is_new).collect();
        unproven.extend(new);
    }
    unproven.sort_by_key(|standing| Reverse(standing.since));
    Ok(unproven)
}
