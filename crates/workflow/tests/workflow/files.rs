//! Files that are damaged, foreign, in each other's way or somewhere else.

use files::FileError;
use serde_json::{Value, json};
use workflow::{Begin, Status, WorkflowError};

use crate::repository::{Folder, minute, name, status, summed_up};

/// P3, and whatever else is no JSON object.
#[test]
fn p3_an_empty_file_is_corrupt_not_absent() {
    for bytes in [&b""[..], b"{", b"\xff\xfe\x00", b"null", b"[]", b"{} trailing", b"\0\0\0\0"] {
        let folder = Folder::with_git();
        folder.write("design-checkpoint.json", bytes);
        let loaded = folder.state().load(&name("design", None)).unwrap();
        assert!(loaded.workflow.is_none());
        let warnings: Vec<_> = loaded.warnings.iter().map(ToString::to_string).collect();
        let path = folder.file("design-checkpoint.json");
        assert_eq!(warnings, [format!("Checkpoint file exists but is corrupt: {}", path.display())]);
        assert_eq!(std::fs::read(&path).unwrap(), bytes, "looking changes nothing");
    }
}

#[test]
fn a_damaged_file_is_set_aside_and_the_last_good_version_goes_on() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("design", None));
    state.update_phase(&name, "research", &summed_up(Status::Complete, "Read."), minute(0)).unwrap();
    folder.write("design-checkpoint.json", "{\"command\": \"des");
    let loaded = state.load(&name).unwrap();
    assert_eq!(loaded.workflow.unwrap().file().state.completed_phases, ["research"]);
    // The list reports it too, beside what takes its place.
    let (listed, problems) = state.list().unwrap();
    assert_eq!(listed.len(), 1);
    let problems: Vec<_> = problems.into_iter().map(|problem| (problem.file, problem.problem)).collect();
    let path = folder.file("design-checkpoint.json");
    let problem =
        format!("Checkpoint file exists but is corrupt: {}; the last good version is used", path.display());
    assert_eq!(problems, [("design-checkpoint.json".to_owned(), problem)]);
    let saved = state.update_phase(&name, "planning", &status(Status::Complete), minute(1)).unwrap();
    assert_eq!(
        folder.json("design-checkpoint.json")["state"]["completed_phases"],
        json!(["research", "planning"])
    );
    assert_eq!(saved.warnings.len(), 2, "{:?}", saved.warnings);
    let aside: Vec<_> = std::fs::read_dir(folder.file(""))
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name().to_str().unwrap().starts_with("design-checkpoint.json.corrupt-"))
        .collect();
    assert_eq!(aside.len(), 1);
    assert_eq!(std::fs::read(aside[0].path()).unwrap(), b"{\"command\": \"des");
}

#[test]
fn wrong_types_are_named_and_the_file_is_left_alone() {
    let sound = json!({"command": "design", "version": 1, "state": {}, "phases": {}});
    let cases = [
        ("/state", json!("x"), "`state` must be an object"),
        ("/phases", json!([1]), "`phases` must be an object"),
    ];
    for (pointer, value, problem) in cases {
        let folder = Folder::with_git();
        let mut document = sound.clone();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        document.pointer_mut(parent).unwrap()[key] = value;
        folder.write("design-checkpoint.json", document.to_string());
        let (state, name) = (folder.state(), name("design", None));
        let error = state.load(&name).unwrap_err().to_string();
        let path = folder.file("design-checkpoint.json");
        assert_eq!(error, format!("`{}` is not a workflow file: {problem}", path.display()));
        assert!(state.update_phase(&name, "a", &status(Status::Complete), minute(0)).is_err());
        assert!(state.start(&name, None, Begin::Fresh, minute(0)).is_err());
        assert_eq!(folder.json("design-checkpoint.json"), document);
    }
}

/// Other tools of this format load any value in a field: it is read as far as it goes, and stays in the file.
#[test]
fn fields_of_another_type_are_read_and_kept() {
    let folder = Folder::with_git();
    let phases = json!({
        "research": {"status": "complete", "files_created": "notes.md", "error": {"code": 7}, "started_at": 1769682600},
        "planning": {"status": "blocked", "files_created": ["a.md", 1], "context_summary": ["two", "parts"]},
        "specs": {"status": 3, "files_modified": null},
        "short": "complete", "odd": [1], "none": null,
    });
    let document = json!({
        "command": "design", "feature": 7, "version": 1, "completed_at": false, "gate": "open",
        "state": {"current_phase": {}, "completed_phases": "research", "pending_phases": ["specs", 2], "current_task": 4},
        "phases": phases,
    });
    folder.write("design-7.json", document.to_string());
    let (state, name) = (folder.state(), name("design", Some("7")));
    let workflow = state.load(&name).unwrap().workflow.unwrap();
    let file = workflow.file();
    assert_eq!((file.state.current_phase.clone(), file.completed_at.clone()), (None, None));
    assert_eq!(
        (&file.state.completed_phases, &file.state.pending_phases),
        (&vec!["research".to_owned()], &vec!["specs".to_owned(), "2".to_owned()])
    );
    let standing = |phase: &str| {
        let phase = file.phase(phase).unwrap();
        (phase.status, phase.status_in_words(), phase.files_created.join(" "), phase.error.clone())
    };
    assert_eq!(
        standing("research"),
        (Status::Complete, "complete".to_owned(), "notes.md".to_owned(), Some("{\"code\":7}".to_owned()))
    );
    assert_eq!(standing("planning"), (Status::Unknown, "blocked".to_owned(), "a.md 1".to_owned(), None));
    assert_eq!(standing("specs"), (Status::Unknown, "3".to_owned(), String::new(), None));
    assert_eq!(standing("short").0, Status::Complete);
    assert_eq!((standing("odd").1, standing("none").0), ("[1]".to_owned(), Status::Pending));

    let point = |pending: Value| {
        let mut document = document.clone();
        document["state"]["pending_phases"] = pending;
        let workflow = workflow::Workflow::from_value(document).unwrap();
        let point = workflow::ResumePoint::of(workflow.file());
        (point.phase, point.status)
    };
    assert_eq!(point(json!("specs")), (Some("specs".to_owned()), Some(Status::Pending)));
    assert_eq!(point(json!([])), (Some("planning".to_owned()), Some(Status::Unknown)));

    let mut update = status(Status::InProgress);
    update.files_created = vec!["plan.md".to_owned()];
    state.update_phase(&name, "research", &update, minute(0)).unwrap();
    let kept = folder.json("design-7.json");
    assert_eq!(kept["phases"]["research"]["files_created"], json!(["notes.md", "plan.md"]));
    assert_eq!(
        (&kept["phases"]["planning"], &kept["phases"]["specs"], &kept["gate"], &kept["feature"]),
        (&phases["planning"], &phases["specs"], &json!("open"), &json!(7))
    );
    assert_eq!(kept["state"]["pending_phases"], json!(["specs", 2]));
    assert_eq!((&kept["phases"]["short"], &kept["phases"]["odd"]), (&json!("complete"), &json!([1])));
    let summed = workflow::PhaseUpdate { context_summary: Some("Short.".to_owned()), ..Default::default() };
    state.update_phase(&name, "short", &summed, minute(1)).unwrap();
    let short = &folder.json("design-7.json")["phases"]["short"];
    assert_eq!((&short["status"], &short["context_summary"]), (&json!("complete"), &json!("Short.")));
}

/// JavaScript cuts texts in the middle of a character, and writes the half that is left as `\ud83c`.
#[test]
fn half_a_character_is_read_and_written_back_as_it_was() {
    let folder = Folder::with_git();
    let written = |status: &str| {
        format!(
            r#"{{"version": 1, "command": "design", "cut \udf89": "\\ud83c",
                "phases": {{"specs": {{"status": "{status}", "context_summary": "cut \ud83c"}}}}}}"#
        )
    };
    folder.write("design-checkpoint.json", written("complete"));
    let (state, name) = (folder.state(), name("design", None));
    let loaded = state.load(&name).unwrap();
    assert_eq!(loaded.warnings, []);
    let workflow = loaded.workflow.unwrap();
    assert_eq!(
        workflow.file().phase("specs").unwrap().context_summary.as_deref(),
        Some("cut \u{fffd}"),
        "people read a replacement character"
    );
    assert_eq!(workflow.readable_document()["cut \u{fffd}"], "\\ud83c");
    state.update_phase(&name, "specs", &status(Status::Failed), minute(0)).unwrap();
    state.update_phase(&name, "planning", &status(Status::Failed), minute(1)).unwrap();
    let text = std::fs::read_to_string(folder.file("design-checkpoint.json")).unwrap();
    let kept: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| line.contains("cut "))
        .map(|line| line.trim_end_matches(','))
        .collect();
    assert_eq!(kept, [r#""cut \udf89": "\\ud83c""#, r#""context_summary": "cut \ud83c""#]);
    assert_eq!(state.history(&name).unwrap().len(), 3, "what was found, and two saves");
    state.complete(&name, minute(2)).unwrap();
    let archived = state.archive(&name, minute(3)).unwrap();
    let content = state.archive_content(&archived.id).unwrap();
    assert_eq!(workflow::readable_object(&content.workflow)["cut \u{fffd}"], "\\ud83c");
}

#[test]
fn what_is_missing_is_empty() {
    let folder = Folder::with_git();
    folder.write(
        "design-checkpoint.json",
        "{\"version\": 1.0, \"feature\": null, \"later\": {\"version\": 9}, \"phases\": [], \"completed_at\": 0}",
    );
    let (state, name) = (folder.state(), name("design", None));
    assert!(state.load(&name).unwrap().workflow.is_some());
    state.update_phase(&name, "research", &status(Status::Complete), minute(0)).unwrap();
    let file = folder.json("design-checkpoint.json");
    assert_eq!(file["later"], json!({"version": 9}));
    assert_eq!(
        file["state"],
        json!({"current_phase": null, "completed_phases": ["research"], "pending_phases": []})
    );
}

#[test]
fn an_oversized_file_is_refused() {
    let folder = Folder::with_git();
    folder.write("design-checkpoint.json", vec![b' '; 4 * 1024 * 1024 + 1]);
    let error = folder.state().load(&name("design", None)).unwrap_err();
    assert!(matches!(error, WorkflowError::File(FileError::TooLarge { .. })), "{error}");
}

#[test]
fn links_and_pipes_are_not_followed() {
    let folder = Folder::with_git();
    let elsewhere = tempfile::tempdir().unwrap();
    let (state, name) = (folder.state(), name("design", None));
    folder.write("x", "");
    let target = elsewhere.path().join("target.json");
    std::fs::write(&target, "{\"version\": 1}").unwrap();
    std::os::unix::fs::symlink(&target, folder.file("design-checkpoint.json")).unwrap();
    assert!(matches!(state.load(&name), Err(WorkflowError::File(FileError::SymbolicLink { .. }))));
    assert!(state.update_phase(&name, "research", &status(Status::Complete), minute(0)).is_err());
    assert_eq!(std::fs::read(&target).unwrap(), b"{\"version\": 1}");
    let linked = Folder::with_git();
    std::os::unix::fs::symlink(elsewhere.path(), linked.path().join(".claude")).unwrap();
    let error =
        linked.state().update_phase(&name, "research", &status(Status::Complete), minute(0)).unwrap_err();
    assert!(matches!(error, WorkflowError::Outside { .. }), "{error}");
    assert!(linked.state().load(&name).is_err() && !linked.state().exists());
    assert!(!elsewhere.path().join("state").exists());
}

/// P2
#[test]
fn p2_the_feature_checkpoint_and_the_plain_workflow_are_two() {
    for plain_first in [true, false] {
        let folder = Folder::with_git();
        let state = folder.state();
        let (plain, feature) = (name("design", None), name("design", Some("checkpoint")));
        let order = if plain_first {
            [(&plain, "research"), (&feature, "specs")]
        } else {
            [(&feature, "specs"), (&plain, "research")]
        };
        for (name, phase) in order {
            state.update_phase(name, phase, &status(Status::Complete), minute(0)).unwrap();
        }
        let done = |name| state.load(name).unwrap().workflow.unwrap().file().state.completed_phases.clone();
        assert_eq!(done(&plain), ["research"]);
        assert_eq!(done(&feature), ["specs"]);
        assert_eq!(
            folder.json("design-checkpoint.json")["feature"],
            Value::Null,
            "the plain one has the usual file"
        );
        let told = state.load(&feature).unwrap().warnings;
        let told: Vec<String> = told.iter().map(|warning| sandbox::redacted(warning.to_string())).collect();
        assert_eq!(
            told,
            [
                "`[folder]/.claude/state/design-checkpoint.json` is the file of another workflow, so this one is in `[folder]/.claude/state/design-checkpoint~[hash].json`"
            ]
        );
    }
}

/// P2
#[test]
fn p2_parts_that_meet_in_one_file_name_are_two_workflows() {
    let folder = Folder::with_git();
    let state = folder.state();
    let names = [
        name("a-b", Some("c")),
        name("a", Some("b-c")),
        name("design", Some("x/y")),
        name("design", Some("x-y")),
        name("design", Some("x:-y")),
    ];
    for (number, name) in names.iter().enumerate() {
        state.update_phase(name, &format!("phase-{number}"), &status(Status::Complete), minute(0)).unwrap();
    }
    for (number, name) in names.iter().enumerate() {
        let workflow = state.load(name).unwrap().workflow.unwrap();
        assert_eq!(workflow.file().state.completed_phases, [format!("phase-{number}")]);
        assert_eq!(&workflow.name(), name);
    }
    assert_eq!(state.list().unwrap().0.len(), names.len());
}

/// The other tool wrote the feature's file under the plain name: it is still that feature's.
#[test]
fn a_file_belongs_to_whom_it_says() {
    let folder = Folder::with_git();
    folder.write("design-checkpoint.json", json!({"command": "design", "feature": "checkpoint", "version": 1, "phases": {"specs": {"status": "complete"}}}).to_string());
    let state = folder.state();
    assert!(state.load(&name("design", None)).unwrap().workflow.is_none());
    assert!(state.load(&name("design", Some("checkpoint"))).unwrap().workflow.is_some());
    state.update_phase(&name("design", None), "research", &status(Status::Complete), minute(0)).unwrap();
    assert_eq!(folder.json("design-checkpoint.json")["feature"], "checkpoint");
}

/// P9
#[test]
fn p9_no_name_leads_out_of_the_state_directory() {
    let folder = Folder::with_git();
    let state = folder.state();
    for feature in ["a/b/c", "...", "a..b", "~", "C:\\x", "con", "x\u{202e}y", " ", "日本語", "a%2fb"] {
        let Ok(name) = workflow::Name::new("design", Some(feature)) else { continue };
        let saved = state.update_phase(&name, "research", &status(Status::Complete), minute(0)).unwrap();
        assert_eq!(
            saved.path.parent(),
            Some(folder.file("").components().collect::<std::path::PathBuf>().as_path())
        );
        assert!(state.load(&name).unwrap().workflow.is_some(), "{feature}");
    }
}

#[test]
fn phases_need_a_name() {
    let folder = Folder::with_git();
    for phase in ["", "a\nb", &"x".repeat(101)] {
        let update =
            folder.state().update_phase(&name("design", None), phase, &status(Status::Complete), minute(0));
        assert!(matches!(update, Err(WorkflowError::PhaseName { .. })));
        assert!(!folder.file("design-checkpoint.json").exists());
    }
}

/// What would break the file is refused, not left out.
#[test]
fn an_update_keeps_to_the_format() {
    let folder = Folder::with_git();
    let mut update = status(Status::Complete);
    update.other.insert("files_created".to_owned(), json!(7));
    let refused = folder.state().update_phase(&name("design", None), "specs", &update, minute(0));
    let told = refused.unwrap_err().to_string();
    assert_eq!(told, "this is not a workflow: `phases.specs.files_created` must be a list of strings");
    assert!(!folder.file("design-checkpoint.json").exists());
}
