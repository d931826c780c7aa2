//! Starting, going on, starting afresh, archiving, listing and comparing.

use serde_json::json;
use workflow::{Begin, Status, WorkflowError, diff};

use crate::repository::{Folder, minute, name, status, summed_up};

#[test]
fn start_goes_on_with_what_is_unfinished() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("design", None));
    assert!(!state.start(&name, None, Begin::Resume, minute(0)).unwrap().resumed);
    state.update_phase(&name, "research", &status(Status::Complete), minute(1)).unwrap();
    let again = state.start(&name, None, Begin::Resume, minute(2)).unwrap();
    assert!(again.resumed && again.archived.is_none());
    assert_eq!(again.workflow.file().state.completed_phases, ["research"]);
    assert_eq!(again.workflow.file().updated_at.as_deref(), Some("2026-01-29T10:31:00.000Z"));
}

#[test]
fn a_fresh_start_archives_what_it_replaces() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("design", Some("x")));
    state.update_phase(&name, "research", &status(Status::Complete), minute(1)).unwrap();
    let fresh = state.start(&name, None, Begin::Fresh, minute(2)).unwrap();
    assert!(!fresh.resumed);
    assert_eq!(fresh.workflow.file().state.completed_phases, Vec::<String>::new());
    let content = state.archive_content(&fresh.archived.unwrap().id).unwrap();
    assert_eq!(content.workflow["state"]["completed_phases"], json!(["research"]));
    assert_eq!(state.history(&name).unwrap().len(), 1, "the history is the new one's");
    // A complete one is over: starting again is starting afresh, and it is not lost either.
    state.complete(&name, minute(3)).unwrap();
    let next = state.start(&name, None, Begin::Resume, minute(4)).unwrap();
    assert!(!next.resumed && next.archived.is_some());
    assert_eq!(state.archived(usize::MAX).unwrap().len(), 2);
}

#[test]
fn only_complete_workflows_are_archived() {
    let folder = Folder::with_git();
    let (state, design, review) = (folder.state(), name("design", None), name("review", None));
    assert!(matches!(state.archive(&design, minute(0)), Err(WorkflowError::NotFound { .. })));
    for name in [&design, &review] {
        state.update_phase(name, "analysis", &summed_up(Status::Complete, "a"), minute(0)).unwrap();
        state.update_phase(name, "analysis", &summed_up(Status::Complete, "b"), minute(1)).unwrap();
    }
    assert!(matches!(state.archive(&design, minute(2)), Err(WorkflowError::Unfinished { .. })));
    state.complete(&review, minute(3)).unwrap();
    let archived = state.archive_complete(minute(4)).unwrap();
    assert_eq!(archived.len(), 1);
    assert_eq!(archived[0].workflow.command, "review");
    assert!(
        !folder.file("review-checkpoint.json").exists() && folder.file("design-checkpoint.json").exists()
    );
    let content = state.archive_content(&archived[0].id).unwrap();
    assert_eq!(content.history.len(), 3, "every save is kept");
    assert!(state.load(&review).unwrap().workflow.is_none());
}

/// The listing needs the index alone; without it, the files.
#[test]
fn the_archive_is_listed_by_its_index() {
    let folder = Folder::with_git();
    let state = folder.state();
    for number in 0..3 {
        let name = name("review", Some(&format!("feature-{number}")));
        state.update_phase(&name, "analysis", &status(Status::Complete), minute(number)).unwrap();
        state.complete(&name, minute(number)).unwrap();
        state.archive(&name, minute(number)).unwrap();
    }
    let listed = state.archived(usize::MAX).unwrap();
    assert_eq!(listed.len(), 3);
    assert_eq!(state.archived(1).unwrap(), listed[..1]);
    assert_eq!(listed[0].workflow.feature.as_deref(), Some("feature-2"), "the latest comes first");
    let archive = folder.file(".checkstone/archive");
    let index = std::fs::read_to_string(archive.join("index.jsonl")).unwrap();
    for entry in std::fs::read_dir(&archive).unwrap() {
        let path = entry.unwrap().path();
        let hidden = archive.join("..").join(path.file_name().unwrap());
        if path.extension().is_some_and(|extension| extension == "lz4") {
            std::fs::rename(path, hidden).unwrap();
        }
    }
    assert_eq!(state.archived(usize::MAX).unwrap(), listed, "no archived file is read");
    for one in &listed {
        let file = format!("{}.json.lz4", one.id);
        std::fs::rename(archive.join("..").join(&file), archive.join(&file)).unwrap();
    }
    // A line that a crash cut off, and one that a crash wrote twice.
    let last = index.lines().last().unwrap();
    std::fs::write(archive.join("index.jsonl"), format!("{index}{last}\n{}", &last[..20])).unwrap();
    assert_eq!(state.archived(usize::MAX).unwrap(), listed);
    std::fs::remove_file(archive.join("index.jsonl")).unwrap();
    let rebuilt = state.archived(usize::MAX).unwrap();
    assert_eq!(
        rebuilt.iter().map(|one| &one.id).collect::<Vec<_>>(),
        listed.iter().map(|one| &one.id).collect::<Vec<_>>()
    );
}

#[test]
fn an_archive_id_is_no_path_and_a_damaged_archive_is_told() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("review", None));
    state.update_phase(&name, "analysis", &status(Status::Complete), minute(0)).unwrap();
    state.complete(&name, minute(0)).unwrap();
    let id = state.archive(&name, minute(0)).unwrap().id;
    for id in ["../x", "/etc/passwd", "", "x"] {
        assert!(matches!(state.archive_content(id), Err(WorkflowError::NotFound { .. })));
    }
    let path = folder.file(&format!(".checkstone/archive/{id}.json.lz4"));
    for bytes in [&b""[..], b"abc", b"\xff\xff\xff\xff\x00", b"\x05\x00\x00\x00\xff\xff\xff"] {
        std::fs::write(&path, bytes).unwrap();
        assert!(matches!(state.archive_content(&id), Err(WorkflowError::Archive { .. })));
    }
}

#[test]
fn the_difference_of_two_saves_is_what_was_said() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("implement", None));
    state.update_phase(&name, "implementation", &status(Status::InProgress), minute(0)).unwrap();
    state.update_phase(&name, "implementation", &summed_up(Status::Complete, "Done."), minute(1)).unwrap();
    let saves = state.history(&name).unwrap();
    assert_eq!(saves.len(), 2);
    let differences = diff(&saves[0].workflow, &saves[1].workflow);
    let told: Vec<String> = differences
        .iter()
        .map(|one| format!("{}: {} → {}", one.path.join("."), one.before, one.after))
        .collect();
    assert_eq!(
        told,
        [
            "updated_at: \"2026-01-29T10:30:00.000Z\" → \"2026-01-29T10:31:00.000Z\"",
            "state.current_phase: \"implementation\" → null",
            "state.completed_phases: [] → [\"implementation\"]",
            "state.pending_phases: [\"implementation\",\"validation\"] → [\"validation\"]",
            "phases.implementation.status: \"in_progress\" → \"complete\"",
            "phases.implementation.updated_at: \"2026-01-29T10:30:00.000Z\" → \"2026-01-29T10:31:00.000Z\"",
            "phases.implementation.context_summary: null → \"Done.\"",
        ]
    );
}

/// What another tool wrote between two of our saves is a step of its own.
#[test]
fn another_tools_save_is_part_of_the_history() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("implement", None));
    state.update_phase(&name, "implementation", &status(Status::InProgress), minute(0)).unwrap();
    let mut theirs = folder.json("implement-checkpoint.json");
    theirs["state"]["current_task"] = json!("T9");
    folder.write("implement-checkpoint.json", theirs.to_string());
    assert_eq!(state.history(&name).unwrap().len(), 2);
    state.update_phase(&name, "implementation", &status(Status::Complete), minute(1)).unwrap();
    let saves = state.history(&name).unwrap();
    assert_eq!(saves.len(), 3);
    assert_eq!((&saves[1].saved_at, &saves[1].workflow["state"]["current_task"]), (&None, &json!("T9")));
}
