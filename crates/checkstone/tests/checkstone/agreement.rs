//! `checkstone check` says of a turn what the hook says at its stop.

use sandbox::waiting::let_files_age;
use serde_json::{Value, json};

use crate::at_turn_start::{ON, configure, script, told};
use crate::workplace::Workplace;

/// Where the prompt could take no baseline, the snapshot at the start of the turn is one, for both.
#[test]
fn check_and_the_hook_agree_where_the_snapshot_is_the_baseline() {
    let workplace = Workplace::new(Some("presets = [\"rust\"]\n"));
    workplace.write("src/older.rs", "// dirt of before\n");
    let_files_age();
    configure(&workplace, ON);
    // The first look at the tree fails, and with it the prompt's own baseline.
    let path = script(
        &workplace,
        "case \"$*\" in *status*) [ -e \"$here/failed\" ] || { : >\"$here/failed\"; exit 9; };; esac",
    );
    workplace.turn(&[]);
    workplace.hook_with_path(&path, "UserPromptSubmit", json!({"prompt": "Fix it"}));
    told(&workplace, 1);
    workplace.write("src/lib.rs", "pub fn one() -> u32 { 2 - 1 }\n");
    // What this command wrote, no transcript shows.
    workplace.turn(&[("./generate", true)]);
    let transcript = workplace.transcript();
    let checked = workplace
        .json(&["check", "--json", "--transcript", transcript.to_str().unwrap()], "check.schema.json");
    let held = workplace.hook("Stop", json!({"stop_hook_active": false, "last_assistant_message": "Done."}));
    assert_eq!(held["decision"], "block");
    let explained = workplace.json(&["explain", "--json"], "explain.schema.json");
    let parts = |verdict: &Value| {
        json!([verdict["verdict"], verdict["scope"], verdict["changed"], verdict["reason"]])
    };
    assert_eq!(parts(&checked), parts(&explained["verdict"]));
    assert_eq!(
        parts(&checked),
        json!(["hold", "turn-baseline", [{"category": "Rust code", "files": ["src/lib.rs"]}], "missing: rust-tests"])
    );
}
