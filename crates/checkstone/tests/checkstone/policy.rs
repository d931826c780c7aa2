use serde_json::json;

use crate::workplace::Workplace;

const CHECKED: &str =
    "presets = [\"rust\"]\n\n[[check]]\nwhen = [\"**/*.rs\"]\nrun = \"cargo test\"\ntimeout = \"60s\"\n";

#[test]
fn every_mistake_has_its_place() {
    let workplace = Workplace::new(Some(
        "presets = [\"rusty\"]\n[gate]\nenabeld = true\nmin_turn = \"soon\"\n[[category]]\nname = \"a\"\ninclude = [\"[\"]\n",
    ));
    insta::assert_snapshot!("mistakes", workplace.shown(&["policy", "check"]));
    let value = workplace.json(&["policy", "check", "--json"], "policy-check.schema.json");
    assert_eq!(value["problems"][0]["line"], 1);
    assert_eq!(value["problems"].as_array().unwrap().len(), 4);
    assert_eq!(workplace.run(&["policy", "check", "--json"]).code, Some(2));
    insta::assert_snapshot!("show_broken", workplace.shown(&["policy", "show"]));
}

#[test]
fn a_sound_policy_and_none() {
    let workplace = Workplace::new(Some("presets = [\"rust\"]\n"));
    insta::assert_snapshot!("sound", workplace.shown(&["policy", "check"]));
    let without = Workplace::new(None);
    insta::assert_snapshot!("none", without.shown(&["policy", "check"]));
    insta::assert_snapshot!("show_none", without.shown(&["policy", "show"]));
    let value = without.json(&["policy", "show", "--json"], "policy-show.schema.json");
    assert_eq!(value["policy"], json!(null));
}

/// `src` is a folder, and a folder is no file.
#[test]
fn a_glob_that_can_match_no_file_is_warned_about() {
    let workplace = Workplace::new(Some(
        "presets = [\"rust\"]\n[[category]]\nname = \"code\"\ninclude = [\"src\", \"src/**\"]\n",
    ));
    assert_eq!(
        workplace.shown(&["policy", "check"]),
        "exit code: 0\n--- stdout\ncheckstone.toml:4:12: the glob `src` matches no file; write `src/**`\n\
         ! the policy is valid, with 1 warning (checkstone.toml)\n--- stderr\n"
    );
    let value = workplace.json(&["policy", "check", "--json"], "policy-check.schema.json");
    let warning = json!({
        "file": "checkstone.toml", "line": 4, "column": 12, "message": "the glob `src` matches no file; write `src/**`",
    });
    assert_eq!(value, json!({"policy": true, "problems": [], "warnings": [warning]}));
}

/// Commands of one's own count beside any run that verifies code.
#[test]
fn a_proof_counts_beside_evidence() {
    let workplace = Workplace::new(Some(
        "[action.tests]\nusual = \"make\"\nproof = \"verification\"\nevidence = [\"make\"]\n",
    ));
    assert_eq!(
        workplace.shown(&["policy", "check"]),
        "exit code: 0\n--- stdout\n✓ the policy is valid (checkstone.toml)\n--- stderr\n"
    );
    let shown = workplace.shown(&["policy", "show"]);
    let proved: Vec<&str> =
        shown.lines().skip_while(|line| !line.starts_with("    proved")).take(2).collect();
    assert_eq!(
        proved,
        [
            "    proved after the change by `make`, any run that verifies code: tests, a type check, a",
            "    build, a linter, the program"
        ]
    );
}

#[test]
fn the_merged_policy_says_where_it_comes_from_and_what_is_ignored() {
    let workplace = Workplace::new(Some(CHECKED));
    insta::assert_snapshot!("shown", workplace.shown(&["policy", "show"]));
    let value = workplace.json(&["policy", "show", "--json"], "policy-show.schema.json");
    assert_eq!(value["files"], json!([workplace.repo().join("checkstone.toml")]));
    assert_eq!(value["policy"]["presets"], json!(["rust"]));
    assert_eq!((&value["trust"], &value["ignored"][0]["run"]), (&json!("untrusted"), &json!("cargo test")));
    assert_eq!(value["policy"]["checks"], json!([]));
}

/// Invariant 7: the user's own configuration needs nobody's trust, and a repository cannot hide in it.
#[test]
fn checks_of_the_users_own_configuration_need_no_trust() {
    let workplace = Workplace::new(Some(CHECKED));
    let folder = workplace.path("home/.config/checkstone");
    std::fs::create_dir_all(&folder).unwrap();
    let own = "[[check]]\nwhen = [\"**\"]\nrun = \"make lint\"\ntimeout = \"9s\"\n";
    std::fs::write(folder.join("config.toml"), own).unwrap();
    let value = workplace.json(&["policy", "show", "--json"], "policy-show.schema.json");
    assert_eq!(value["policy"]["checks"], json!([{"when": ["**"], "run": "make lint", "timeout": "9s"}]));
    assert_eq!(value["ignored"].as_array().unwrap().len(), 1);
    // The hook runs exactly what is shown.
    let told = format!("[[check]]\nwhen = [\"**\"]\nrun = \"touch {}\"\n", workplace.path("ran").display());
    std::fs::write(folder.join("config.toml"), told).unwrap();
    let forbidden = workplace.path("forbidden");
    workplace
        .write("checkstone.toml", &CHECKED.replace("cargo test", &format!("touch {}", forbidden.display())));
    workplace.held_turn(&[]);
    assert_eq!((workplace.path("ran").exists(), forbidden.exists()), (true, false));
}

#[test]
fn the_published_schema_takes_the_presets_shape() {
    let text = include_str!("../../../../schemas/policy.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(text).unwrap()).unwrap();
    assert!(schema.is_valid(&json!({"presets": ["rust"], "gate": {"enabled": true}})));
    assert!(!schema.is_valid(&json!({"presetz": ["rust"]})));
}
