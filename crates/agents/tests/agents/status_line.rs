//! Our status line in Claude Code's settings: there and back, and never in place of a person's own.

use agents::registration::settings;
use agents::registration::status_line::{StatusLineOwner, add, owner};
use transcript::Agent;

const OURS: &str = "/home/ann/.local/bin/checkstone";

#[test]
fn there_and_back_is_the_same_to_the_byte() {
    for text in [
        "{}",
        "{}\n",
        "{\n  \"model\": \"opus\"\n}\n",
        "{\n\t\"model\": \"opus\",\n\t\"hooks\": {}\n}",
        "{\"model\":\"opus\"}",
        "\u{feff}{\"a\": 1, \"b\": [1, 2]}\r\n",
        "{\"a\": \"\\ud83d\", \"\\ude00\": 1e999}",
    ] {
        let added = add(Agent::Claude, text, OURS, &[]).unwrap();
        assert_eq!(owner(Agent::Claude, &added).unwrap(), StatusLineOwner::Ours(OURS.to_owned()), "{added}");
        assert_eq!(add(Agent::Claude, &added, OURS, &[]).unwrap(), added, "once");
        assert_eq!(settings::remove(Agent::Claude, &added, None).unwrap(), text, "{added}");
    }
}

#[test]
fn a_new_file_looks_like_one_of_the_client() {
    let expected = "{\n  \"statusLine\": {\n    \"type\": \"command\",\n    \"command\": \"'/a b/checkstone' statusline\"\n  }\n}\n";
    assert_eq!(add(Agent::Claude, "", "/a b/checkstone", &[]).unwrap(), expected);
}

#[test]
fn a_persons_own_stays() {
    for command in
        ["~/line.sh", "checkstone statusline | cut -c1-9", "echo checkstone statusline", "statusline"]
    {
        let text = serde_json::json!({"statusLine": {"type": "command", "command": command}}).to_string();
        assert_eq!(owner(Agent::Claude, &text).unwrap(), StatusLineOwner::Others, "{command}");
        assert_eq!(add(Agent::Claude, &text, OURS, &[]).unwrap(), text);
        assert_eq!(settings::remove(Agent::Claude, &text, None).unwrap(), text);
    }
}

#[test]
fn a_program_that_is_gone_is_exchanged_in_its_place() {
    let text = "{\"statusLine\": {\"padding\": 0, \"type\": \"command\", \"command\": \"/old/checkstone statusline\"}}";
    let expected = text.replace("/old/checkstone", OURS);
    assert_eq!(add(Agent::Claude, text, OURS, &["/old/checkstone".to_owned()]).unwrap(), expected);
    assert_eq!(add(Agent::Claude, text, OURS, &[]).unwrap(), text);
}
