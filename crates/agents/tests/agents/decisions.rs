//! Every decision for every client at every event: as a reviewed table, and against what each client accepts.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use agents::{Answer, Event, HoldForm, Payload};
use serde_json::{Value, json};
use text::OWN_PREFIX;
use transcript::Agent;

fn events() -> Vec<Event> {
    vec![
        Event::PromptSubmitted,
        Event::Stop,
        Event::SubagentStop,
        Event::SessionStart { source: "startup".to_owned() },
        Event::BeforeCompaction,
        Event::SessionEnd,
        Event::Other("PostToolUse".to_owned()),
    ]
}

fn decisions() -> Vec<Answer> {
    let agent = "[checkstone] Context-aware checkpoint\n\n1. Run `make \"test\"` – now".to_owned();
    let person = "checkstone held: tests were not run".to_owned();
    vec![
        Answer::Pass,
        Answer::Notify { to_person: person.clone() },
        Answer::Hold { to_agent: agent.clone(), to_person: None },
        Answer::Hold { to_agent: agent.clone(), to_person: Some(person.clone()) },
        Answer::Continue {
            to_agent: agent.clone(),
            to_person: Some(person),
            autonomous_execution: Box::new(json!({"enabled": true, "executed_directly": true})),
        },
        Answer::Context { to_agent: agent, to_person: "The agent was told of unfinished work".to_owned() },
    ]
}

/// What a client accepts at an event. Codex fails a hook for any other key; the others ignore it or, worse, do
/// something with it, so nobody gets one. A host with a contract of its own has it in `contracts`, event by event.
fn schema(agent: Agent, event: &Event) -> Value {
    let name = match event {
        Event::SessionStart { .. } => "SessionStart".to_owned(),
        event => format!("{event:?}"),
    };
    if let Some(own) = contract(agent).get(&name) {
        return own.clone();
    }
    let text = json!({ "type": "string", "minLength": 1 });
    let mut properties = json!({ "systemMessage": text });
    let mut dependent = json!({});
    if matches!(event, Event::Stop | Event::SubagentStop) {
        properties["decision"] = json!({ "const": "block" });
        // Codex: a block without a reason fails.
        properties["reason"] = text.clone();
        dependent = json!({ "decision": ["reason"], "reason": ["decision"] });
    }
    if matches!(event, Event::SessionStart { .. }) {
        properties["hookSpecificOutput"] = json!({
            "type": "object",
            "properties": { "hookEventName": { "const": "SessionStart" }, "additionalContext": text },
            "required": ["hookEventName", "additionalContext"],
            "additionalProperties": false,
        });
    }
    json!({
        "type": "object",
        "properties": properties,
        "dependentRequired": dependent,
        "additionalProperties": false,
        "minProperties": 1,
    })
}

/// Schemas by the names of events; none of a host that took over Claude Code's contract.
fn contract(agent: Agent) -> Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/contracts");
    let text = fs::read_to_string(folder.join(agent.name()).with_extension("json"));
    text.map_or_else(|_| json!({}), |text| serde_json::from_str(&text).unwrap())
}

/// H1: exactly the client's schema. H2: a pass is empty stdout.
#[test]
fn h1_h2_every_decision_fits_the_schema_of_its_client() {
    for agent in Agent::ALL {
        let mut table = String::new();
        for event in events() {
            let validator = jsonschema::draft202012::new(&schema(agent, &event)).unwrap();
            writeln!(table, "{event:?}").unwrap();
            for decision in decisions() {
                let rendered = decision.render(agent, &event, HoldForm::Block);
                writeln!(table, "  {}", rendered.as_deref().unwrap_or("(nothing)")).unwrap();
                let Some(rendered) = rendered else { continue };
                assert_eq!(rendered.lines().count(), 1);
                let value: Value = serde_json::from_str(&rendered).unwrap();
                assert!(validator.is_valid(&value), "{agent:?} {event:?}: {rendered}");
            }
        }
        insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!(format!("{}-decisions", agent.name()), table);
        });
    }
}

/// H2: a pass says nothing to anybody, at any event.
#[test]
fn h2_a_pass_is_empty_stdout() {
    for agent in Agent::ALL {
        for event in events() {
            assert_eq!(Answer::Pass.render(agent, &event, HoldForm::Block), None);
        }
    }
}

/// `block` at a prompt would throw the person's prompt away.
#[test]
fn only_a_stop_is_ever_held() {
    for agent in Agent::ALL {
        for event in events() {
            for decision in decisions() {
                let rendered = decision.render(agent, &event, HoldForm::Block);
                let holds = decision.is_hold() && rendered.is_some();
                let may = decision.is_hold()
                    && (event == Event::Stop
                        || (event == Event::SubagentStop && agents::host(agent).can.holds_subagents));
                assert_eq!(holds, may, "{agent:?} {event:?} {decision:?}");
            }
        }
    }
}

/// Claude Code is told to hold in the form that it does not call an error; the others have no such form, a long text would
/// not reach the model whole, and the account of a save stands beside a `block`.
#[test]
fn a_hold_is_context_if_claude_code_takes_it_so() {
    let hold =
        |text: &str| Answer::Hold { to_agent: text.to_owned(), to_person: Some("Off switch".to_owned()) };
    let context = |agent, answer: &Answer| answer.render(agent, &Event::Stop, HoldForm::Context).unwrap();
    assert_eq!(
        context(Agent::Claude, &hold("Run the tests")),
        r#"{"systemMessage":"Off switch","hookSpecificOutput":{"hookEventName":"Stop","additionalContext":"[checkstone] Run the tests"}}"#
    );
    let long = hold(&"x".repeat(8 * 1024 + 1));
    let mut unchanged = vec![(Agent::Claude, long)];
    unchanged.extend([Agent::Gemini, Agent::Codex].map(|agent| (agent, hold("Run the tests"))));
    unchanged.extend(
        decisions()
            .into_iter()
            .filter(|answer| !matches!(answer, Answer::Hold { .. }))
            .map(|answer| (Agent::Claude, answer)),
    );
    for (agent, answer) in unchanged {
        let rendered = |form| answer.render(agent, &Event::Stop, form);
        assert_eq!(rendered(HoldForm::Context), rendered(HoldForm::Block), "{agent:?} {answer:?}");
    }
}

/// T4: whatever we tell an agent is known again when it comes back.
#[test]
fn t4_what_an_agent_is_told_is_known_again() {
    for said in ["", "Run the tests", "[checkstone] Run the tests"] {
        let hold = Answer::Hold { to_agent: said.to_owned(), to_person: None };
        let rendered = hold.render(Agent::Gemini, &Event::Stop, HoldForm::Block).unwrap();
        let reason = serde_json::from_str::<Value>(&rendered).unwrap()["reason"].as_str().unwrap().to_owned();
        assert!(reason.starts_with(OWN_PREFIX));
        assert_eq!(reason.matches(OWN_PREFIX).count(), 1);

        let back = json!({ "hook_event_name": "BeforeAgent", "prompt": reason }).to_string();
        assert!(Payload::parse(Agent::Gemini, back.as_bytes()).unwrap().is_own_text());
    }
}

/// Names of files, outputs and what an agent said stand in our texts: nothing of it reaches a terminal as a command. Our own lines stay.
#[test]
fn no_control_character_leaves_in_any_answer() {
    let text = || "1. a\u{1b}]0;pwn\u{7}\r\n2. b\u{9b}\u{202e}c\u{e0041}".to_owned();
    let shown = "1. a␛]0;pwn␇\\n2. b\u{fffd}\u{fffd}c\u{fffd}";
    let start = Event::SessionStart { source: "startup".to_owned() };
    for (answer, event) in [
        (Answer::Notify { to_person: text() }, Event::Stop),
        (Answer::Hold { to_agent: text(), to_person: Some(text()) }, Event::Stop),
        (Answer::Context { to_agent: text(), to_person: text() }, start),
    ] {
        for agent in Agent::ALL {
            for form in [HoldForm::Block, HoldForm::Context] {
                let Some(line) = answer.render(agent, &event, form) else { continue };
                let found = [shown, "\\u00"].map(|part| line.matches(part).count().min(1));
                let controls = line.chars().filter(|letter| letter.is_control()).count();
                assert_eq!((found, controls), ([1, 0], 0), "{agent:?}: {line}");
            }
        }
    }
}
