//! What holds for any bytes, and for real payloads with anything changed.

use agents::{Answer, HoldForm, Payload};
use proptest::prelude::*;
use serde_json::Value;
use transcript::Agent;

use crate::samples::{bytes, names};

/// Everything a caller does with a payload.
fn exercise(agent: Agent, bytes: &[u8]) {
    let Ok(payload) = Payload::parse(agent, bytes) else { return };
    assert_eq!(payload.agent, agent);
    assert!(payload.prompt.as_deref().unwrap_or_default().len() <= 16 * 1024);
    assert!(!(payload.opens_turn() && payload.is_own_text()));
    let _ = payload.is_planning();
    let _ = payload.transcript_is_complete(payload.prompt.as_deref());
    let hold = Answer::Hold {
        to_agent: payload.prompt.clone().unwrap_or_default(),
        to_person: payload.last_text.clone(),
    };
    if let Some(rendered) = hold.render(agent, &payload.event, HoldForm::Context) {
        assert!(serde_json::from_str::<Value>(&rendered).is_ok());
        assert_eq!(rendered.lines().count(), 1);
    }
}

fn agent() -> impl Strategy<Value = Agent> {
    prop::sample::select(Agent::ALL.to_vec())
}

/// A real payload, its agent known.
fn sample() -> impl Strategy<Value = (Agent, Vec<u8>)> {
    let all: Vec<_> = Agent::ALL
        .into_iter()
        .flat_map(|agent| names(agent).into_iter().map(move |name| (agent, bytes(agent, &name))))
        .collect();
    prop::sample::select(all)
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,20}|\\[checkstone\\] x|<hook_prompt [a-z>]{0,9}|<hook_context>[a-z]{0,5}</hook_context>"
            .prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z_]{1,8}|status|current_usage", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// H10: any bytes.
    #[test]
    fn h10_no_bytes_make_it_panic(agent in agent(), bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        exercise(agent, &bytes);
    }

    #[test]
    fn h10_no_damage_to_a_real_payload_makes_it_panic(
        (agent, mut bytes) in sample(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        exercise(agent, &bytes);
    }

    /// A real payload with any value in any field is still read, unless it is the event that is lost.
    #[test]
    fn one_strange_field_does_not_lose_the_others(
        (agent, bytes) in sample(), at in any::<prop::sample::Index>(), value in value(),
    ) {
        let mut object: serde_json::Map<String, Value> = serde_json::from_slice(&bytes).unwrap();
        let key = object.keys().nth(at.index(object.len())).unwrap().clone();
        object.insert(key.clone(), value);
        let changed = serde_json::to_vec(&object).unwrap();
        exercise(agent, &changed);
        let before = Payload::parse(agent, &bytes).unwrap();
        if key != "hook_event_name" && object.contains_key("hook_event_name") {
            let after = Payload::parse(agent, &changed).unwrap();
            // A host may call it otherwise, or not take a stop for one that says so.
            let other_names = agents::host(agent).payload.other_names;
            let is = |ours: &str| key == ours || other_names.contains(&(ours, key.as_str()));
            // A sub-agent's session is its parent's, which one of these names.
            let names_parent = ["parent_agent_id", "calling_session_id", "transcript_path"].contains(&key.as_str());
            prop_assert!(is("session_id") || names_parent || after.session == before.session);
            prop_assert!(is("cwd") || after.cwd == before.cwd);
            prop_assert!(is("stop_hook_active") || after.stop_hook_active == before.stop_hook_active);
        }
    }
}
