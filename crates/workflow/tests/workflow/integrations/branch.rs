use proptest::prelude::*;
use workflow::integrations::branch::{IssueId, branch_name};

fn issue(text: &str) -> IssueId {
    IssueId::parse(text).unwrap()
}

#[test]
fn a_branch_is_named_after_its_issue() {
    assert_eq!(branch_name("feature", &issue("BAS-6"), None), "feature/BAS-6");
    assert_eq!(
        branch_name("feature", &issue("bas-6"), Some("Fix the parser!")),
        "feature/BAS-6-fix-the-parser"
    );
    assert_eq!(branch_name("", &issue("BAS-6"), None), "BAS-6");
    assert_eq!(branch_name("team/fix", &issue("BAS-6"), None), "team/fix/BAS-6");
}

/// P9: names from outside are only names.
#[test]
fn a_prefix_cannot_make_another_name_of_it() {
    for prefix in ["../..", "-f", "a b;rm", "x.lock/", "@{-1}", "refs/heads/../x", "~^:?*[\\"] {
        let name = branch_name(prefix, &issue("BAS-6"), Some("..//--.lock"));
        let output = std::process::Command::new("git").args(["check-ref-format", "--branch", &name]).output();
        assert!(output.unwrap().status.success(), "{prefix:?} gave {name:?}");
        assert!(name.contains("BAS-6"), "{name}");
    }
}

#[test]
fn what_is_an_issue_id_and_what_is_not() {
    assert_eq!(issue(" bas-6 ").as_str(), "BAS-6");
    assert_eq!(issue("A1-99").as_str(), "A1-99");
    for text in
        ["", "BAS", "BAS-", "-6", "BAS-06", "BAS-6x", "BAS_6", "1A-6", "BAS-6-7", "BAS-9999999999", "ÄB-1"]
    {
        assert_eq!(IssueId::parse(text), None, "{text}");
    }
}

#[test]
fn the_issue_is_read_back_from_the_branch() {
    for (branch, id) in [
        ("feature/BAS-6", Some("BAS-6")),
        ("ann/bas-6-fix-the-parser", Some("BAS-6")),
        ("BAS-6", Some("BAS-6")),
        ("fix-parser/BAS-7_x", Some("BAS-7")),
        ("main", None),
        ("release-2026.1", None),
        ("feature/no-issue", None),
        ("utf-8x", None),
    ] {
        assert_eq!(IssueId::of_branch(branch).as_ref().map(IssueId::as_str), id, "{branch}");
    }
}

proptest! {
    #[test]
    fn every_name_leads_back_to_its_issue(
        prefix in "[a-z][a-z/_]{0,12}", team in "[A-Z][A-Z0-9]{0,5}", number in 1_u32..99999, title in ".{0,40}",
    ) {
        let id = issue(&format!("{team}-{number}"));
        let name = branch_name(&prefix, &id, Some(&title));
        prop_assert_eq!(IssueId::of_branch(&name), Some(id), "{}", name);
    }
}
