//! What must hold for any text as a policy.

use gate::policy::{Class, Policy, Source};

/// Paths that differ in what globs look at.
const PATHS: &[&str] =
    &["README.md", "src/main.rs", "a/b/c/d.py", ".github/workflows/ci.yml", "ä b/[x]", "", "/"];

/// Loads the text; what is wrong with it has words, and what loads knows every path.
pub fn check(text: &str) {
    match Policy::load(&[Source { name: "checkstone.toml", text }]) {
        Err(problems) => {
            assert!(!problems.0.is_empty(), "refused without a reason");
            assert!(!problems.to_string().is_empty());
        }
        Ok(policy) => {
            for path in PATHS {
                if let Class::Categories(places) = policy.classify(path) {
                    assert!(!places.is_empty());
                    assert!(places.iter().all(|place| *place < policy.categories.len()));
                }
            }
            for action in &policy.actions {
                assert!(policy.action(&action.id).is_some());
            }
            for required in policy.categories.iter().flat_map(|category| &category.require) {
                assert!(policy.action(required).is_some(), "an action that nobody defines");
            }
        }
    }
}
