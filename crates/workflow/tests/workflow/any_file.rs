//! Whatever a file holds: no panic, and nothing of it is lost.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use workflow::Status;

use crate::repository::{Folder, minute, name, status};

/// JSON with the words of the format in likely and unlikely places.
fn value() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "complete",
        "in_progress",
        "research",
        "",
        "\u{0}",
        "日本",
        "2026-01-29T10:30:00.000Z",
        "../x",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word.prop_map(Value::from),
        ".{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..5)
                .prop_map(|pairs| Value::Object(pairs.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    let known = [
        "state",
        "phases",
        "gate",
        "current_phase",
        "completed_phases",
        "pending_phases",
        "context_summary",
        "status",
        "error",
        "files_created",
        "started_at",
        "updated_at",
        "completed_at",
        "head_commit",
    ];
    prop_oneof![prop::sample::select(known.to_vec()).prop_map(str::to_owned), "[a-z_]{0,8}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_document_is_refused_whole_or_kept_whole(pairs in prop::collection::vec((key(), value()), 0..8)) {
        let folder = Folder::without_git();
        let mut document: Map<String, Value> = pairs.into_iter().collect();
        document.insert("version".to_owned(), json!(1));
        document.insert("command".to_owned(), json!("design"));
        let written = Value::Object(document.clone()).to_string();
        folder.write("design-checkpoint.json", &written);
        let (state, name) = (folder.state(), name("design", None));
        let _ = state.session_start();
        match state.update_phase(&name, "research", &status(Status::Complete), minute(0)) {
            Err(_) => {
                prop_assert_eq!(std::fs::read_to_string(folder.file("design-checkpoint.json")).unwrap(), written);
            }
            Ok(saved) => {
                let ours = ["state", "phases", "started_at", "updated_at", "completed_at"];
                for (key, value) in document.iter().filter(|(key, _)| !ours.contains(&key.as_str())) {
                    prop_assert_eq!(saved.workflow.document().get(key), Some(value), "{}", key);
                }
                let again = state.load(&name).unwrap().workflow.unwrap();
                prop_assert_eq!(again, saved.workflow);
            }
        }
    }

    #[test]
    fn any_bytes_are_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let folder = Folder::without_git();
        folder.write("design-checkpoint.json", &bytes);
        let (state, name) = (folder.state(), name("design", None));
        prop_assert!(state.session_start().is_none());
        let loaded = state.load(&name).unwrap();
        prop_assert!(loaded.workflow.is_none() && loaded.warnings.len() == 1);
        state.update_phase(&name, "research", &status(Status::Complete), minute(0)).unwrap();
    }
}
