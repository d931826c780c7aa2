//! Our entries in settings files of every shape: added, found, taken away, and nothing else touched.

use agents::registration::settings::{self, SettingsError};
use agents::{Program, Registration, RegistrationFile, events, host};
use proptest::prelude::*;
use serde_json::{Value, json};
use transcript::Agent;

const PATH: &str = "/home/ann/.local/bin/checkstone";

fn registration(agent: Agent) -> Registration {
    Registration::new(agent, Program::At(PATH))
}

/// The clients that register hooks in settings, beside other people's.
fn with_settings() -> Vec<Agent> {
    let has_settings = |agent: &Agent| host(*agent).registration.file == RegistrationFile::Settings;
    Agent::ALL.into_iter().filter(has_settings).collect()
}

fn added(agent: Agent, text: &str) -> String {
    settings::add(text, &registration(agent), &[])
        .unwrap_or_else(|error| panic!("{agent:?}: {error}\n{text}"))
}

/// Comments taken away by other means than those under test: in these texts, a line that is no JSON with them.
fn value(text: &str) -> Value {
    let text = text.trim_start_matches('\u{feff}');
    let without = || text.split('\n').map(|line| line.split("// ").next().unwrap()).collect::<String>();
    let read = serde_json::from_str(text).or_else(|_| serde_json::from_str(&without()));
    read.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The settings with our groups at the end of their lists, as a person would put them.
fn expected(agent: Agent, before: &Value) -> Value {
    let mut after = before.clone();
    let ours = serde_json::to_value(registration(agent)).unwrap();
    let hooks = after.as_object_mut().unwrap().entry("hooks").or_insert(json!({}));
    for (event, groups) in ours["hooks"].as_object().unwrap() {
        let list = hooks.as_object_mut().unwrap().entry(event).or_insert(json!([]));
        list.as_array_mut().unwrap().extend(groups.as_array().unwrap().clone());
    }
    after
}

fn stop(agent: Agent) -> &'static str {
    if agent == Agent::Gemini { "AfterAgent" } else { "Stop" }
}

/// Settings as people have them; `STOP` is the client's stop event.
const REAL: &[&str] = &[
    "{\n  \"model\": \"opus\",\n  \"permissions\": {\n    \"allow\": [\"Bash(git *)\"]\n  }\n}\n",
    "{\n  \"model\": \"opus\"\n}",
    "{\n\t\"hooks\": {\n\t\t\"STOP\": [\n\t\t\t{ \"hooks\": [{ \"type\": \"command\", \"command\": \"say done\" }] }\n\t\t]\n\t},\n\t\"z\": 1\n}\n",
    "{\r\n    \"hooks\": {\r\n        \"Notification\": []\r\n    },\r\n    \"theme\": \"dark\"\r\n}\r\n",
    "{\"hooks\":{\"STOP\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"true\"}]}]},\"env\":{\"A\":\"b\"}}",
    "{\"model\": \"x\", \"env\": {}}\n",
    "{\n  \"hooks\": {\n    \"STOP\": [{\n      \"hooks\": [{\n        \"type\": \"command\",\n        \"command\": \"true\"\n      }]\n    }]\n  }\n}\n",
    "{\n  \"hooks\": {}\n}\n",
    "{\n  \"hooks\": {\n    \"STOP\": []\n  }\n}\n",
    "{\n  \"hooks\": {\n  }\n}\n",
    "{}",
    "{}\n",
    "{ }",
    "{\n}\n",
    "  {\n    \"a\": [1,\n 2]}  \n\n",
    "{\n  \"h\\\"ooks\": {\"Stop\": 1},\n  \"\\u0068ooks\": {}\n}\n",
    "{\n  \"a\": \"}],{[\\\\\",\n  \"ü\": \"\\u00fc // no comment\"\n}\n",
];

/// Only Gemini CLI accepts these.
const WITH_COMMENTS: &[&str] = &[
    "{\n  // The theme\n  \"theme\": \"dark\" // not light\n}\n",
    "{\n  \"hooks\": {\n    // none yet\n  } // end\n}\n",
    "{\n  \"hooks\": {\n    \"AfterAgent\": [\n      { \"hooks\": [] } // mine\n      // more to come\n    ]\n  }\n}\n",
    "{\"hooks\": { // inline\n }}\n",
    "{ // first\n}\n",
];

/// What JavaScript writes and reads: a text that is cut in the middle of a character, and a number beyond all bounds.
const NOT_DECODABLE: &[&str] = &[
    "{\n  \"a\": \"cut \\ud83d\",\n  \"b\": [1e999, {\"\\ude00\": -1e999}]\n}\n",
    "{\n  \"hooks\": {\n    \"STOP\": [{\n      \"hooks\": [{\n        \"type\": \"command\",\n        \"command\": \"echo \\ud83d\"\n      }]\n    }]\n  }\n}\n",
    "{\"hooks\":{\"\\ud83d\":[],\"STOP\":[{\"hooks\":[{\"command\":\"true\",\"timeout\":1e999}]}]},\"\\udc00\":{}}",
];

fn real(agent: Agent) -> Vec<String> {
    let texts = REAL.iter().map(|text| text.replace("STOP", stop(agent)));
    let comments = WITH_COMMENTS.iter().filter(|_| agent == Agent::Gemini).map(|text| (*text).to_owned());
    texts.chain(comments).collect()
}

#[test]
fn our_groups_come_last_and_everything_else_stays() {
    for agent in with_settings() {
        for text in real(agent) {
            let after = added(agent, &text);
            assert_eq!(value(&after), expected(agent, &value(&text)), "{after}");
            let names: Vec<String> =
                settings::find(agent, &after).unwrap().into_iter().map(|found| found.event).collect();
            let mut wanted = events(agent).to_vec();
            wanted.sort_by_key(|event| names.iter().position(|name| name == event));
            assert_eq!(names, wanted, "{after}");
        }
    }
}

#[test]
fn the_second_time_changes_nothing() {
    for agent in with_settings() {
        for text in real(agent) {
            let after = added(agent, &text);
            assert_eq!(added(agent, &after), after);
        }
    }
}

#[test]
fn what_was_added_can_be_taken_away() {
    for agent in with_settings() {
        for text in real(agent) {
            let after = settings::remove(agent, &added(agent, &text), Some(&text)).unwrap();
            assert_eq!(value(&after), value(&text), "{after}");
            // Where nothing had to be made first, not a byte differs.
            if !text.contains("{\n  }") && !text.contains("{ }") && text.trim() != "{\n}" {
                assert_eq!(after, text);
            }
        }
    }
}

#[test]
fn what_cannot_be_decoded_stays_as_it_is_written() {
    for agent in with_settings() {
        for text in NOT_DECODABLE.iter().map(|text| text.replace("STOP", stop(agent))) {
            let after = added(agent, &text);
            assert_eq!(settings::find(agent, &after).unwrap().len(), events(agent).len(), "{after}");
            assert_eq!(added(agent, &after), after);
            assert_eq!(settings::remove(agent, &after, Some(&text)).unwrap(), text);
        }
    }
}

/// It hides nothing of what stands beside it.
#[test]
fn beside_what_cannot_be_decoded_everything_is_seen() {
    let text =
        "{\"a\": \"\\ud83d\", \"disableAllHooks\": true, \"enabledPlugins\": {\"checkstone@m\": true}}";
    assert_eq!(settings::switched_off(Agent::Claude, text), Some("disableAllHooks"));
    assert!(settings::has_plugin(Agent::Claude, text));
    let own = "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"checkstone hook claude\", \"statusMessage\": \"\\ud83d\"}]}]}}";
    assert_eq!(settings::find(Agent::Claude, own).unwrap().len(), 1);
    assert_eq!(settings::remove(Agent::Claude, own, None).unwrap(), "{}");
}

/// The layout is the file's own.
#[test]
fn what_is_added_looks_like_its_neighbours() {
    for (number, text) in real(Agent::Gemini).iter().enumerate() {
        insta::assert_snapshot!(
            format!("added_{number}"),
            added(Agent::Gemini, text).replace('\r', "␍").replace('\t', "→")
        );
    }
    for agent in with_settings() {
        let after = added(agent, "{\r\n\t\"a\": 1\r\n}");
        assert_eq!(after.matches('\n').count(), after.matches("\r\n").count());
        assert!(after.lines().all(|line| !line.starts_with(' ')), "{after}");
    }
}

#[test]
fn an_empty_file_becomes_a_whole_one() {
    for agent in with_settings() {
        for text in ["", "\n", "  \r\n\t"] {
            assert_eq!(added(agent, text), registration(agent).file());
            assert_eq!(settings::remove(agent, text, None).unwrap(), text);
        }
    }
}

#[test]
fn a_byte_order_mark_stays_where_the_client_accepts_it() {
    let text = "\u{feff}{\n    \"a\": 1\n}";
    let after = added(Agent::Claude, text);
    assert!(
        after.starts_with("\u{feff}{\n    \"a\": 1,\n    \"hooks\": {\n        \"SessionStart\""),
        "{after}"
    );
    assert_eq!(settings::remove(Agent::Claude, &after, None).unwrap(), text);
    for agent in [Agent::Gemini, Agent::Codex] {
        let refused = settings::add(text, &registration(agent), &[]);
        assert!(matches!(refused, Err(SettingsError::ByteOrderMark { .. })), "{refused:?}");
    }
}

/// Each with the sentence that a person reads.
#[test]
fn what_is_not_surely_understood_is_refused() {
    let mut told = String::new();
    for (agent, text) in [
        (Agent::Claude, "{\"a\": 1,}"),
        (Agent::Claude, "{'a': 1}"),
        (Agent::Claude, "{\"a\": 1"),
        (Agent::Claude, "{\"a\": 1} x"),
        (Agent::Claude, "{\n  // c\n}"),
        (Agent::Codex, "{} /* c */"),
        (Agent::Gemini, "{\"a\": 1, // c\n}"),
        (Agent::Gemini, "{ /* never closed }"),
        (Agent::Claude, "[]"),
        (Agent::Claude, "\"hooks\""),
        (Agent::Claude, "null"),
        (Agent::Claude, "{\"hooks\": {}, \"a\": 1, \"hooks\": {}}"),
        (Agent::Claude, "{\"hooks\": {}, \"\\u0068ooks\": {}}"),
        (Agent::Claude, "{\"hooks\": {\"Stop\": [], \"Stop\": []}}"),
        (Agent::Claude, "{\"hooks\": []}"),
        (Agent::Claude, "{\"hooks\": null}"),
        (Agent::Codex, "{\"hooks\": {\"Stop\": {}}}"),
        (Agent::Codex, "{\"hooks\": {\"Stop\": \"checkstone hook codex\"}}"),
    ] {
        let error = settings::add(text, &registration(agent), &[]).unwrap_err();
        assert_eq!(settings::find(agent, text).unwrap_err().to_string(), error.to_string());
        assert_eq!(settings::remove(agent, text, None).unwrap_err().to_string(), error.to_string());
        told.push_str(&format!("{text:?}\n  {error}\n"));
    }
    insta::assert_snapshot!("refused", told);
}

#[test]
fn deep_and_long_texts_are_no_matter() {
    let deep = format!("{{\"a\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    let long: String = (0..20_000).map(|number| format!("  \"key{number}\": [1, 2, 3],\n")).collect();
    for text in [deep, format!("{{\n{long}  \"last\": 1\n}}\n")] {
        let after = added(Agent::Claude, &text);
        assert_eq!(settings::find(Agent::Claude, &after).unwrap().len(), events(Agent::Claude).len());
        assert_eq!(settings::remove(Agent::Claude, &after, None).unwrap(), text);
    }
}

#[test]
fn a_hook_written_by_hand_is_not_doubled() {
    let text = "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"~/bin/checkstone hook claude\"}]}]}}";
    let after = value(&added(Agent::Claude, text));
    assert_eq!(after["hooks"]["Stop"], value(text)["hooks"]["Stop"]);
    assert_eq!(after["hooks"]["SessionStart"].as_array().unwrap().len(), 1);
}

/// Codex's trust is for the command line, so a path that still works is kept.
#[test]
fn a_path_is_written_anew_only_where_it_is_gone() {
    for agent in with_settings() {
        let old = Registration::new(agent, Program::At("/old place/checkstone"));
        let text = settings::add("{\n  \"a\": 1\n}\n", &old, &[]).unwrap();
        assert_eq!(added(agent, &text), text);
        let gone = ["/old place/checkstone".to_owned()];
        let after = settings::add(&text, &registration(agent), &gone).unwrap();
        assert_eq!(after, added(agent, "{\n  \"a\": 1\n}\n"));
    }
    let by_hand = "{\"hooks\":{\"Stop\":[{\"hooks\":[{\"command\":\"exec /old/checkstone hook codex\"}]}]}}";
    let after = settings::add(by_hand, &registration(Agent::Codex), &["/old/checkstone".to_owned()]).unwrap();
    assert!(after.starts_with(by_hand.trim_end_matches("}}")), "{after}");
}

#[test]
fn only_our_handlers_leave_a_shared_group() {
    let text = "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"a\"}, {\"command\": \"checkstone hook claude\"}, \
                {\"command\": \"b\"}, {\"command\": \"/x/checkstone hook claude\"}]}, 5, {\"hooks\": 1}, {\"hooks\": []}], \
                \"SubagentStop\": [{\"hooks\": [{\"command\": \"checkstone hook claude\"}]}]}}";
    assert_eq!(
        settings::remove(Agent::Claude, text, None).unwrap(),
        "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"a\"}, {\"command\": \"b\"}]}, 5, {\"hooks\": 1}, \
         {\"hooks\": []}]}}"
    );
}

/// What is left of a line must not end up in a comment.
#[test]
fn comments_swallow_nothing() {
    let own = "{\"hooks\": [{\"command\": \"checkstone hook gemini\"}]}";
    for (list, left) in [
        (format!("[ // c\n  {own}]"), "[ // c\n  ]"),
        (format!("[ // c\n  {own}\n]"), "[ // c\n]"),
        (format!("[ // c\n  {own}, 5]"), "[ // c\n   5]"),
        (format!("[ // c\n  {own},\n  {own}]"), "[ // c\n  ]"),
        (format!("[5, // c\n  {own}, // d\n  {own}\n]"), "[5 // c\n   // d\n]"),
        (format!("[{own} // c\n]"), "[ // c\n]"),
        (format!("[/* c */ {own}]"), "[/* c */ ]"),
    ] {
        let wrap = |list: &str| format!("{{\"hooks\": {{\"AfterAgent\": {list}}}}}");
        let before = "{\"hooks\": {\"AfterAgent\": []}}";
        assert_eq!(settings::remove(Agent::Gemini, &wrap(&list), Some(before)).unwrap(), wrap(left));
    }
}

#[test]
fn what_was_empty_before_stays() {
    let before = "{\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n";
    let text = added(Agent::Claude, before).replace("{\n  \"hooks\"", "{\n  \"new\": 1,\n  \"hooks\"");
    assert_eq!(
        settings::remove(Agent::Claude, &text, Some(before)).unwrap(),
        "{\n  \"new\": 1,\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n"
    );
    // What was ours already does not count.
    let by_hand = "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"checkstone hook claude\"}]}]}}";
    assert_eq!(settings::remove(Agent::Claude, &added(Agent::Claude, by_hand), Some(by_hand)).unwrap(), "{}");
    // Where nobody knows, nothing empty is left.
    assert_eq!(settings::remove(Agent::Claude, &text, None).unwrap(), "{\n  \"new\": 1\n}\n");
    assert!(settings::is_empty(
        Agent::Claude,
        &settings::remove(Agent::Claude, &added(Agent::Claude, ""), None).unwrap()
    ));
}

#[test]
fn hooks_that_are_switched_off_are_seen() {
    for (agent, text, key) in [
        (Agent::Claude, "{\"disableAllHooks\": true}", Some("disableAllHooks")),
        (Agent::Claude, "{\"disableAllHooks\": false}", None),
        (Agent::Claude, "{\"env\": {\"disableAllHooks\": true}}", None),
        (Agent::Claude, "{\"allowManagedHooksOnly\": true}", Some("allowManagedHooksOnly")),
        (Agent::Gemini, "{\"hooksConfig\": {\"enabled\": false}} // c", Some("hooksConfig.enabled")),
        (
            Agent::Gemini,
            "{\"hooksConfig\": {\"disabled\": [\"x\", \"checkstone\"]}}",
            Some("hooksConfig.disabled"),
        ),
        (Agent::Gemini, "{\"hooksConfig\": {\"disabled\": [\"x\"]}}", None),
        (Agent::Gemini, "{", None),
    ] {
        assert_eq!(settings::switched_off(agent, text), key, "{text}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~ü\\\\\"/\\n{}\\[\\],:*]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z\"\\\\/*]{0,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_settings(agent: Agent) -> impl Strategy<Value = Value> {
    let group = any_json()
        .prop_map(|value| json!({"matcher": "x", "hooks": [{"type": "command", "command": value}]}));
    let groups = prop::collection::vec(prop_oneof![group, any_json()], 0..3).prop_map(Value::from);
    let names: Vec<&'static str> = events(agent).iter().copied().chain(["PreToolUse", "Other"]).collect();
    let hooks = prop::option::of(prop::collection::btree_map(prop::sample::select(names), groups, 0..4));
    let rest = prop::collection::btree_map("[a-gi-z]{1,6}", any_json(), 0..4);
    (hooks, rest).prop_map(|(hooks, rest)| {
        let mut map: serde_json::Map<String, Value> = rest.into_iter().collect();
        if let Some(hooks) = hooks {
            let hooks = hooks.into_iter().map(|(event, groups)| (event.to_owned(), groups)).collect();
            map.insert("hooks".to_owned(), Value::Object(hooks));
        }
        Value::Object(map)
    })
}

fn printed(value: &Value, indentation: Option<&str>, crlf: bool) -> String {
    let Some(indentation) = indentation else { return value.to_string() };
    let mut bytes = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indentation.as_bytes());
    serde::Serialize::serialize(value, &mut serde_json::Serializer::with_formatter(&mut bytes, formatter))
        .unwrap();
    let text = String::from_utf8(bytes).unwrap();
    if crlf { text.replace('\n', "\r\n") } else { text }
}

fn any_agent() -> impl Strategy<Value = Agent> {
    prop::sample::select(with_settings())
}

proptest! {
    /// Any settings, in any layout, survive byte for byte; meanwhile every other key is what it was.
    #[test]
    fn any_settings_survive(
        (agent, before) in any_agent().prop_flat_map(|agent| (Just(agent), any_settings(agent))),
        indentation in prop::sample::select(vec![None, Some("  "), Some("\t"), Some("    ")]),
        crlf: bool,
    ) {
        let text = printed(&before, indentation, crlf);
        let after = settings::add(&text, &registration(agent), &[]).unwrap();
        let parsed: Value = serde_json::from_str(&after).unwrap();
        prop_assert_eq!(&parsed, &expected(agent, &before));
        prop_assert_eq!(settings::add(&after, &registration(agent), &[]).unwrap(), after.clone());
        prop_assert_eq!(settings::remove(agent, &after, Some(&text)).unwrap(), text);
    }

    /// Whatever the text, there is an answer, and what is answered can be read again.
    #[test]
    fn any_text_is_survived(agent in any_agent(), text in "[{}\\[\\],:\"hoks /*\\n\\\\1ü]{0,40}") {
        if let Ok(after) = settings::add(&text, &registration(agent), &[]) {
            prop_assert_eq!(settings::find(agent, &after).unwrap().len(), events(agent).len());
        }
        let _ = settings::remove(agent, &text, None);
    }

    /// A valid text damaged in one place is refused or still means what it meant with ours added.
    #[test]
    fn a_damaged_text_is_refused_or_understood(
        before in any_settings(Agent::Claude),
        at: prop::sample::Index,
        put in "[{}\\[\\],:\"/* \\\\]{0,2}",
    ) {
        let mut text = printed(&before, Some("  "), false);
        let at = text.floor_char_boundary(at.index(text.len()));
        let end = text.ceil_char_boundary(at + 1);
        text.replace_range(at..end, &put);
        if let Ok(after) = settings::add(&text, &registration(Agent::Claude), &[]) && !text.trim().is_empty() {
            let (before, after): (Value, Value) = (serde_json::from_str(&text).unwrap(), serde_json::from_str(&after).unwrap());
            prop_assert_eq!(after, expected(Agent::Claude, &before));
        }
    }
}

/// Seen to be accepted by Claude Code 2.1.325 and Gemini CLI 0.61.0.
#[test]
fn what_is_no_event_beside_the_events_is_no_matter() {
    let text = "{\"hooks\": {\"enabled\": true, \"disabled\": [\"x\"], \"_note\": \"mine\"}}";
    for agent in [Agent::Claude, Agent::Gemini] {
        let after = added(agent, text);
        assert_eq!(value(&after), expected(agent, &value(text)));
        assert_eq!(settings::remove(agent, &after, Some(text)).unwrap(), text);
    }
}

/// Codex CLI 0.166.0: "unknown field `$schema`, expected `description` or `hooks`".
#[test]
fn a_name_for_which_codex_refuses_the_file_is_seen() {
    let unknown =
        settings::unknown_key(Agent::Codex, "{\"description\": \"d\", \"$schema\": \"s\", \"hooks\": {}}");
    assert_eq!(unknown.as_deref(), Some("$schema"));
    assert_eq!(settings::unknown_key(Agent::Codex, "{\"description\": \"d\", \"hooks\": {}}"), None);
    assert_eq!(settings::unknown_key(Agent::Codex, ""), None);
}

#[test]
fn our_plugin_is_seen() {
    assert!(settings::has_plugin(Agent::Claude, "{\"enabledPlugins\": {\"checkstone@m\": true}}"));
    assert!(!settings::has_plugin(
        Agent::Claude,
        "{\"enabledPlugins\": {\"checkstone@m\": false, \"other@m\": true}}"
    ));
    assert!(!settings::has_plugin(Agent::Claude, ""));
}
