//! The plan of the work item that the agent is at.

use std::io::Read as _;
use std::path::Path;

use gate::PlanFile;
use gate::policy::Policy;

/// A larger plan is not read to its end.
const LARGEST_PLAN: u64 = 256 * 1024;

/// The plan of the work item `slug`, or of the one that the branch names.
pub(crate) fn plan(
    policy: &Policy,
    root: &Path,
    slug: Option<&str>,
    branch: Option<&str>,
) -> Option<PlanFile> {
    let slug = match slug {
        Some(slug) => slug.to_owned(),
        None => slug_of_branch(&policy.plan.slug_from_branch, branch?)?,
    };
    if !is_slug(&slug) || policy.plan.path.is_empty() {
        return None;
    }
    let path = root.join(policy.plan.path.replace("{slug}", &slug));
    let inside = fs_err::canonicalize(&path).ok()?.starts_with(fs_err::canonicalize(root).ok()?);
    // Opening a named pipe would wait for a writer.
    if !inside || !path.is_file() {
        return None;
    }
    let mut text = String::new();
    fs_err::File::open(&path).ok()?.take(LARGEST_PLAN).read_to_string(&mut text).ok()?;
    Some(PlanFile { slug, text })
}

/// A name that leads nowhere but into the folder it is put in.
pub fn is_slug(slug: &str) -> bool {
    !slug.is_empty() && slug.len() <= 200 && !slug.contains(['/', '\\', '\0']) && slug != "." && slug != ".."
}

/// `work/{slug}` and `work/parser` give `parser`.
fn slug_of_branch(pattern: &str, branch: &str) -> Option<String> {
    let (before, after) = pattern.split_once("{slug}")?;
    let slug = branch.strip_prefix(before)?.strip_suffix(after)?;
    Some(slug.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_names_its_work_item() {
        assert_eq!(slug_of_branch("work/{slug}", "work/parser").as_deref(), Some("parser"));
        assert_eq!(slug_of_branch("{slug}-wip", "parser-wip").as_deref(), Some("parser"));
        assert_eq!(slug_of_branch("work/{slug}", "main"), None);
        assert_eq!(slug_of_branch("", "main"), None);
    }
}
