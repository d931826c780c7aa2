use std::os::fd::{AsFd as _, OwnedFd};
use std::process::Stdio;

use sandbox::RunToEnd as _;
use serde_json::json;

use crate::workplace::Workplace;

const CHECKED: &str = "[[check]]\nwhen = [\"**/*.rs\"]\nrun = \"cargo test\"\ntimeout = \"60s\"\n";

fn standing(workplace: &Workplace) -> String {
    let value = workplace.json(&["policy", "show", "--json"], "policy-show.schema.json");
    value["trust"].as_str().unwrap().to_owned()
}

/// Invariant 7: trust is the path and the content; any change withdraws it, and putting it back restores it.
#[test]
fn any_change_of_the_file_withdraws_the_trust() {
    let workplace = Workplace::new(Some(CHECKED));
    insta::assert_snapshot!("trusted", workplace.shown(&["trust", "--yes"]));
    assert_eq!(standing(&workplace), "trusted");
    insta::assert_snapshot!("already", workplace.shown(&["trust"]));
    workplace.write("checkstone.toml", &format!("{CHECKED}\n# changed\n"));
    assert_eq!(standing(&workplace), "changed");
    let value = workplace.json(&["policy", "show", "--json"], "policy-show.schema.json");
    assert_eq!((&value["policy"]["checks"], value["ignored"].as_array().unwrap().len()), (&json!([]), 1));
    workplace.write("checkstone.toml", CHECKED);
    assert_eq!(standing(&workplace), "trusted");
}

#[test]
fn a_copy_elsewhere_is_not_trusted() {
    let workplace = Workplace::new(Some(CHECKED));
    workplace.run(&["trust", "--yes"]);
    let copy = workplace.path("copy");
    workplace.git(&["clone", "--quiet", ".", copy.to_str().unwrap()]);
    let arguments = ["policy", "show", "--json", "--repo", copy.to_str().unwrap()];
    assert_eq!(workplace.json(&arguments, "policy-show.schema.json")["trust"], "untrusted");
}

/// Invariant 7: trust is the user's word; the agent that wrote the file cannot give it.
#[test]
fn an_agent_cannot_give_trust() {
    let workplace = Workplace::new(Some(CHECKED));
    for variable in ["CLAUDE_CODE_SESSION_ID", "CODEX_SESSION_ID", "GEMINI_CLI"] {
        let output = workplace.checkstone(&["trust", "--yes"]).env(variable, "1").answer();
        assert_eq!(
            output.to_string(),
            "exit code: 4\n--- stdout\n--- stderr\n\
             error: an agent cannot give trust: that is your decision\n\
             hint: run `checkstone trust` yourself, in your own terminal\n"
        );
    }
    assert_eq!(standing(&workplace), "untrusted");
}

/// Nobody has to be asked about a file that could not do anything anyway.
#[test]
fn a_file_that_needs_no_trust_gets_none() {
    let workplace = Workplace::new(Some("presets = [\"rust\"]\n"));
    let nothing = "exit code: 0\n--- stdout\n`[folder]/repo/checkstone.toml` contains nothing that needs trust.\n--- stderr\n";
    assert_eq!(workplace.shown(&["trust"]), nothing);
    assert_eq!(workplace.shown(&["trust", "--yes"]), nothing);
    assert!(!workplace.path("state").exists());
}

/// Every key and its value; what it grants, in words that tell one value from another.
#[test]
fn all_that_would_be_granted_is_shown() {
    let everything = "[autosave]\nmode = \"autonomous\"\nthreshold = 60\nwindow = 100000\npush = \"always\"\nwait = \"1s\"\n\
                      include = \"all\"\nnotes = \"n.md\"\nsubject = \"s\"\nbody = \"b\"\nco_author = \"A <a@b>\"\n\
                      allow_secrets_in = [\"**\"]\nallow_secrets = [\"aws\"]\nhook_timeout = \"2m\"\n\
                      [snapshot]\nat_turn_start = true\nkeep = 1\nkeep_for = \"1h\"\nlargest_file_mb = 1\nmirror = true\n\
                      mirror_files = [\".env\"]\n";
    let shown = |text: &str| {
        let shown = Workplace::new(Some(text)).shown(&["trust", "--yes"]);
        shown.lines().filter(|line| line.starts_with(' ')).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!("everything", shown(everything));
    let alone = [
        "push = \"tracked\"",
        "push = \"never\"",
        "push = { \"*\" = \"never\", \"main\" = \"always\" }",
        "mode = \"normal\"",
        "mode = \"autonomous\"",
        "allow_secrets_in = [\"x.md\"]",
        "allow_secrets_in = [\"*\", \"*/**\"]",
    ];
    let alone = alone.map(|key| shown(&format!("[autosave]\n{key}\n")));
    insta::assert_snapshot!("alone", alone.join("\n"));
    assert_eq!(
        shown("[snapshot]\nlargest_file_mb = 1\n"),
        "  snapshot.largest_file_mb = 1: A larger file, in MB, is left out and reported."
    );
}

#[test]
fn without_a_terminal_only_yes_is_an_answer() {
    let workplace = Workplace::new(Some(CHECKED));
    insta::assert_snapshot!("nobody_asked", workplace.shown(&["trust"]));
    assert_eq!(standing(&workplace), "untrusted");
}

#[test]
fn a_person_at_a_terminal_is_asked() {
    for (answer, code, after) in [("n\n", 1, "untrusted"), ("\n", 1, "untrusted"), ("y\n", 0, "trusted")] {
        let workplace = Workplace::new(Some(CHECKED));
        let (person, terminal) = terminal();
        rustix::io::write(&person, answer.as_bytes()).unwrap();
        let output = workplace.checkstone(&["trust"]).stdin(Stdio::from(terminal)).answer();
        assert_eq!(output.code, Some(code), "{output}");
        assert_eq!(output.stderr, "Trust it? [y/N] ");
        assert_eq!(standing(&workplace), after);
    }
}

/// Both ends of a terminal of its own.
pub(crate) fn terminal() -> (OwnedFd, OwnedFd) {
    use rustix::fs::{Mode, OFlags};
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    // A program that had the person's end as well would never see it closed.
    let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    rustix::io::fcntl_setfd(&person, rustix::io::FdFlags::CLOEXEC).unwrap();
    grantpt(person.as_fd()).unwrap();
    unlockpt(person.as_fd()).unwrap();
    let name = ptsname(person.as_fd(), Vec::new()).unwrap();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let terminal = rustix::fs::open(name.as_c_str(), flags, Mode::empty()).unwrap();
    (person, terminal)
}

#[test]
fn the_list_and_the_revocation() {
    let workplace = Workplace::new(Some(CHECKED));
    insta::assert_snapshot!("empty_list", workplace.shown(&["trust", "--list"]));
    insta::assert_snapshot!("nothing_to_revoke", workplace.shown(&["trust", "--revoke"]));
    let file = workplace.repo().join("checkstone.toml");
    workplace.run(&["trust", "--yes", file.to_str().unwrap()]);
    insta::assert_snapshot!("list", workplace.shown(&["trust", "--list"]));
    let value = workplace.json(&["trust", "--list", "--json"], "trust-list.schema.json");
    // What `sha256sum` says of the file.
    assert_eq!(
        value["files"][0]["sha256"],
        "70e6a7bff76b497b9062c2f9655df31e75f3b1e0975f45e4c01c4e42b68e7ce0"
    );
    assert_eq!(value["files"][0]["state"], "trusted");
    workplace.write("checkstone.toml", "presets = []\n");
    assert_eq!(
        workplace.json(&["trust", "--list", "--json"], "trust-list.schema.json")["files"][0]["state"],
        "changed"
    );
    std::fs::remove_file(&file).unwrap();
    assert_eq!(
        workplace.json(&["trust", "--list", "--json"], "trust-list.schema.json")["files"][0]["state"],
        "missing"
    );
    insta::assert_snapshot!("revoked", workplace.shown(&["trust", "--revoke", file.to_str().unwrap()]));
    assert_eq!(
        workplace.json(&["trust", "--list", "--json"], "trust-list.schema.json"),
        json!({"files": []})
    );
}

#[test]
fn what_cannot_be_trusted_is_said_in_one_sentence() {
    insta::assert_snapshot!("no_file", Workplace::new(None).shown(&["trust", "--yes"]));
    let broken = Workplace::new(Some("presetz = 1\n"));
    insta::assert_snapshot!("broken", broken.shown(&["trust", "--yes"]));
    broken.write("sub/checkstone.toml", CHECKED);
    insta::assert_snapshot!("elsewhere", broken.shown(&["trust", "--yes", "sub/checkstone.toml"]));
    insta::assert_snapshot!("missing", broken.shown(&["trust", "nowhere"]));
}
