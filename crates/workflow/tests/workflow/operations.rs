//! The five operations of the format: load, save, update phase, complete, resume point.

use serde_json::{Value, json};
use workflow::{PhaseUpdate, Status, Workflow, WorkflowError};

use crate::repository::{Folder, git_in, git_program, minute, name, status, summed_up};

const SAMPLE: &str = include_str!("samples/implement-checkpoint-infrastructure.json");

fn words(number: usize) -> String {
    vec!["word"; number].join(" ")
}

fn given() -> Value {
    json!({
        "command": "design",
        "feature": "test-feature",
        "version": 1,
        "state": {"current_phase": null, "completed_phases": [], "pending_phases": []},
        "phases": {},
    })
}

/// `loadCheckpoint`
#[test]
fn load_finds_nothing_silently() {
    let folder = Folder::with_git();
    let loaded = folder.state().load(&name("design", None)).unwrap();
    assert!(loaded.workflow.is_none() && loaded.warnings.is_empty());
    assert!(!folder.file("").exists(), "looking creates nothing");
}

/// `saveCheckpoint`
#[test]
fn save_creates_the_file_in_the_state_directory() {
    let folder = Folder::with_git();
    let head = folder.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let workflow = Workflow::from_value(given()).unwrap();
    let name = name("design", Some("test-feature"));
    let saved = folder.state().save(&name, None, &workflow, minute(0)).unwrap();
    assert_eq!(saved.path, folder.file("design-test-feature.json"));
    let text = std::fs::read_to_string(&saved.path).unwrap();
    assert!(text.starts_with("{\n  \"command\": \"design\",\n  \"feature\""), "{text}");
    let file = folder.json("design-test-feature.json");
    assert_eq!(file["head_commit"], head.as_str());
    assert_eq!(file["started_at"], "2026-01-29T10:30:00.000Z");
    assert_eq!(file["updated_at"], "2026-01-29T10:30:00.000Z");
    let read = folder.state().load(&name).unwrap().workflow.unwrap();
    let again = folder.state().save(&name, Some(&read), &workflow, minute(5)).unwrap().workflow;
    assert_eq!(again.file().updated_at.as_deref(), Some("2026-01-29T10:35:00.000Z"));
}

/// `saveCheckpoint`: what the caller has is not what is written.
#[test]
fn save_never_changes_the_callers_object() {
    let folder = Folder::with_git();
    let workflow = Workflow::from_value(given()).unwrap();
    let copy = workflow.clone();
    let saved =
        folder.state().save(&name("design", Some("test-feature")), None, &workflow, minute(0)).unwrap();
    assert_eq!(workflow, copy);
    assert_eq!(Value::from(workflow.document().clone()), given());
    assert_ne!(saved.workflow, workflow);
}

/// P6, in the state and in a phase.
#[test]
fn p6_save_refuses_a_summary_of_501_words_and_takes_500() {
    let folder = Folder::with_git();
    let save = |value: Value| {
        folder.state().save(&name("design", None), None, &Workflow::from_value(value).unwrap(), minute(0))
    };
    for (place, pointer) in
        [("state.context_summary", "/state"), ("phases.specs.context_summary", "/phases/specs")]
    {
        let mut long = given();
        long["feature"] = Value::Null;
        long["phases"]["specs"] = json!({"status": "complete"});
        long.pointer_mut(pointer).unwrap()["context_summary"] = words(501).into();
        let error = save(long.clone()).unwrap_err().to_string();
        let expected = "Context summary exceeds 500 token limit (actual: 501 tokens)";
        assert_eq!(error, format!("{expected} in `{place}`"));
        assert!(!folder.file("design-checkpoint.json").exists());
        long.pointer_mut(pointer).unwrap()["context_summary"] = words(500).into();
        save(long).unwrap();
        std::fs::remove_file(folder.file("design-checkpoint.json")).unwrap();
    }
}

/// P7
#[test]
fn p7_another_version_is_refused_both_ways() {
    let folder = Folder::with_git();
    for (version, said) in
        [(json!(2), "2"), (json!("1"), "\"1\""), (Value::Null, "null"), (json!(1.5), "1.5")]
    {
        let mut other = given();
        other["version"] = version;
        let expected = format!("Unsupported checkpoint schema version: {said} (expected 1)");
        assert_eq!(Workflow::from_value(other.clone()).unwrap_err().to_string(), expected);
        folder.write("design-test-feature.json", other.to_string());
        let name = name("design", Some("test-feature"));
        assert_eq!(folder.state().load(&name).unwrap_err().to_string(), expected);
        let update = folder.state().update_phase(&name, "specs", &status(Status::Complete), minute(0));
        assert_eq!(update.unwrap_err().to_string(), expected);
        assert_eq!(folder.json("design-test-feature.json"), other, "it is left alone");
    }
}

/// `updatePhase`
#[test]
fn update_phase_makes_the_file_and_the_timestamps() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("design", None));
    let first = state.update_phase(&name, "research", &status(Status::InProgress), minute(0)).unwrap();
    assert!(first.before.is_none());
    let file = folder.json("design-checkpoint.json");
    assert_eq!(file["state"]["current_phase"], "research");
    assert_eq!(file["state"]["pending_phases"], json!(["research", "planning", "specs"]));
    assert_eq!(file["phases"]["research"]["started_at"], "2026-01-29T10:30:00.000Z");
    state.update_phase(&name, "research", &status(Status::InProgress), minute(1)).unwrap();
    state.update_phase(&name, "research", &summed_up(Status::Complete, "Read it all."), minute(9)).unwrap();
    state.update_phase(&name, "research", &status(Status::Complete), minute(10)).unwrap();
    let file = folder.json("design-checkpoint.json");
    assert_eq!(file["phases"]["research"]["started_at"], "2026-01-29T10:30:00.000Z", "only the first time");
    assert_eq!(file["phases"]["research"]["updated_at"], "2026-01-29T10:40:00.000Z");
    assert_eq!(file["phases"]["research"]["context_summary"], "Read it all.");
    assert_eq!(
        file["state"],
        json!({
            "current_phase": null, "completed_phases": ["research"], "pending_phases": ["planning", "specs"],
        })
    );
    assert_eq!(file["started_at"], "2026-01-29T10:30:00.000Z");
}

#[test]
fn a_failed_phase_keeps_its_error_until_it_is_tried_again() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("implement", None));
    let failed = PhaseUpdate { error: Some("2 tests fail".to_owned()), ..status(Status::Failed) };
    state.update_phase(&name, "validation", &status(Status::InProgress), minute(0)).unwrap();
    state.update_phase(&name, "validation", &failed, minute(1)).unwrap();
    let file = folder.json("implement-checkpoint.json");
    assert_eq!(file["state"]["current_phase"], Value::Null);
    assert_eq!(file["state"]["pending_phases"], json!(["implementation"]));
    assert_eq!(file["phases"]["validation"]["error"], "2 tests fail");
    state.update_phase(&name, "validation", &status(Status::InProgress), minute(2)).unwrap();
    assert_eq!(folder.json("implement-checkpoint.json")["phases"]["validation"].get("error"), None);
}

#[test]
fn a_skipped_phase_is_no_longer_to_come() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("design", None));
    state.update_phase(&name, "planning", &status(Status::Skipped), minute(0)).unwrap();
    let file = folder.json("design-checkpoint.json");
    assert_eq!(file["state"]["pending_phases"], json!(["research", "specs"]));
    assert_eq!(file["state"]["completed_phases"], json!([]));
}

#[test]
fn files_are_added_once() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("implement", None));
    for files in [["a.rs", "b.rs"], ["b.rs", "c.rs"]] {
        let update =
            PhaseUpdate { files_created: files.map(str::to_owned).to_vec(), ..PhaseUpdate::default() };
        state.update_phase(&name, "implementation", &update, minute(0)).unwrap();
    }
    let phase = &folder.json("implement-checkpoint.json")["phases"]["implementation"];
    assert_eq!(phase["files_created"], json!(["a.rs", "b.rs", "c.rs"]));
    assert_eq!(phase["status"], "pending");
}

/// `completeCheckpoint`
#[test]
fn complete_ends_everything() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("review", Some("x")));
    assert!(matches!(state.complete(&name, minute(0)), Err(WorkflowError::NotFound { .. })));
    assert!(!folder.file("").exists());
    state.update_phase(&name, "analysis", &status(Status::InProgress), minute(0)).unwrap();
    state.complete(&name, minute(7)).unwrap();
    let file = folder.json("review-x.json");
    assert_eq!(file["completed_at"], "2026-01-29T10:37:00.000Z");
    assert_eq!(
        (&file["state"]["current_phase"], &file["state"]["pending_phases"]),
        (&Value::Null, &json!([]))
    );
}

/// P8
#[test]
fn p8_a_phase_updated_after_completion_reopens_the_workflow() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("review", None));
    state.update_phase(&name, "analysis", &status(Status::Complete), minute(0)).unwrap();
    state.complete(&name, minute(1)).unwrap();
    assert_eq!(state.resume_point(&name).unwrap().0.phase, None);
    state.update_phase(&name, "feedback", &status(Status::InProgress), minute(2)).unwrap();
    assert_eq!(folder.json("review-checkpoint.json").get("completed_at"), None);
    assert_eq!(state.resume_point(&name).unwrap().0.phase.as_deref(), Some("feedback"));
}

/// `getResumePoint`, P1
#[test]
fn p1_resume_is_the_current_phase_else_the_failed_one_else_the_next() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("design", None));
    assert_eq!(state.resume_point(&name).unwrap().0, workflow::ResumePoint::default());
    state.update_phase(&name, "research", &summed_up(Status::InProgress, "Half."), minute(0)).unwrap();
    let point = state.resume_point(&name).unwrap().0;
    assert_eq!((point.phase.as_deref(), point.status), (Some("research"), Some(Status::InProgress)));
    assert_eq!((point.summary, point.progress.as_deref()), (None, Some("Half.")));
    state.update_phase(&name, "research", &summed_up(Status::Complete, "All read."), minute(1)).unwrap();
    let point = state.resume_point(&name).unwrap().0;
    assert_eq!((point.phase.as_deref(), point.status), (Some("planning"), Some(Status::Pending)));
    assert_eq!(point.summary.as_deref(), Some("All read."));
    let failed = PhaseUpdate { error: Some("No time".to_owned()), ..status(Status::Failed) };
    state.update_phase(&name, "planning", &failed, minute(2)).unwrap();
    let point = state.resume_point(&name).unwrap().0;
    assert_eq!((point.phase.as_deref(), point.error.as_deref()), (Some("planning"), Some("No time")));
    assert_eq!(point.summary.as_deref(), Some("All read."));
    state.complete(&name, minute(3)).unwrap();
    assert_eq!(state.resume_point(&name).unwrap().0, workflow::ResumePoint::default());
}

/// Of two phases that were under way at once, the one that has not ended goes on.
#[test]
fn a_phase_that_is_still_under_way_is_resumed_as_such() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("design", None));
    for (phase, update) in
        [("research", Status::InProgress), ("planning", Status::InProgress), ("planning", Status::Complete)]
    {
        state.update_phase(&name, phase, &status(update), minute(0)).unwrap();
    }
    let point = state.resume_point(&name).unwrap().0;
    assert_eq!((point.phase.as_deref(), point.status), (Some("research"), Some(Status::InProgress)));
}

#[test]
fn the_last_three_summaries_are_told_the_latest_first() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("design", None));
    for (number, phase) in ["a", "b", "c", "d"].into_iter().enumerate() {
        state
            .update_phase(
                &name,
                phase,
                &summed_up(Status::Complete, &format!("{phase} done")),
                minute(number as i64),
            )
            .unwrap();
    }
    let point = state.resume_point(&name).unwrap().0;
    let told: Vec<_> = point.summaries.iter().map(|one| one.phase.as_str()).collect();
    assert_eq!(told, ["d", "c", "b"]);
}

/// P5
#[test]
fn p5_a_workflow_saved_at_another_commit_is_stale_and_still_there() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("implement", None));
    state.update_phase(&name, "implementation", &status(Status::InProgress), minute(0)).unwrap();
    let old = state.head().unwrap();
    assert!(state.load(&name).unwrap().warnings.is_empty());
    let new = folder.commit();
    let loaded = state.load(&name).unwrap();
    assert!(loaded.workflow.is_some());
    let expected = format!("Checkpoint is stale (saved at {}, current HEAD is {})", &old[..7], &new[..7]);
    assert_eq!(loaded.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(), [expected]);
    state.update_phase(&name, "implementation", &status(Status::Complete), minute(1)).unwrap();
    assert!(state.load(&name).unwrap().warnings.is_empty());
}

#[test]
fn without_git_the_folder_itself_counts_and_no_commit() {
    let folder = Folder::without_git();
    let state = folder.state();
    let saved =
        state.update_phase(&name("start", None), "branch", &status(Status::Complete), minute(0)).unwrap();
    assert_eq!(saved.path, folder.file("start-checkpoint.json"));
    assert_eq!(saved.workflow.file().head_commit, None);
    assert!(state.load(&name("start", None)).unwrap().warnings.is_empty());
}

#[test]
fn each_working_tree_has_its_own_and_a_subfolder_the_same() {
    let folder = Folder::with_git();
    let beside = folder.path().join("beside");
    folder.git(&["worktree", "add", "--quiet", "-b", "other", beside.to_str().unwrap()]);
    git_in(&beside, &["commit", "--quiet", "--allow-empty", "--message=there"]);
    let there = workflow::StateDirectory::of(&beside, &git_program());
    assert_eq!(there.head().unwrap(), git_in(&beside, &["rev-parse", "HEAD"]).trim());
    assert_ne!(there.head(), folder.state().head());
    assert_eq!(there.folder(), beside.join(".claude/state"));
    std::fs::create_dir_all(folder.path().join("src/deep")).unwrap();
    let deep = workflow::StateDirectory::of(&folder.path().join("src/deep"), &git_program());
    assert_eq!(deep.folder(), folder.file("").join("").components().collect::<std::path::PathBuf>());
}

/// Git's own words for it in every way it can be stored.
#[test]
fn head_is_what_git_says_it_is() {
    let folder = Folder::with_git();
    let agrees = |what: &str| {
        let git = folder.git(&["rev-parse", "HEAD"]);
        assert_eq!(folder.state().head().as_deref(), Some(git.trim()), "{what}");
    };
    agrees("loose");
    folder.git(&["pack-refs", "--all"]);
    agrees("packed");
    folder.git(&["checkout", "--quiet", "--detach"]);
    agrees("detached");
    folder.git(&["checkout", "--quiet", "-b", "feature/deep/name"]);
    folder.commit();
    agrees("a branch in folders");
    folder.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    folder.git(&["symbolic-ref", "HEAD", "refs/heads/alias"]);
    agrees("a branch that is a link");
    let empty = Folder::without_git();
    empty.git(&["init", "--quiet"]);
    assert_eq!(empty.state().head(), None);
    let sha256 = Folder::without_git();
    sha256.git(&["init", "--quiet", "--object-format=sha256"]);
    assert_eq!(sha256.commit().len(), 64);
    assert_eq!(sha256.state().head().unwrap().len(), 64);
}

#[test]
fn git_ignores_the_state_and_the_users_own_ignores_stay() {
    let folder = Folder::with_git();
    std::fs::write(folder.path().join(".gitignore"), "target\n").unwrap();
    folder.git(&["add", ".gitignore"]);
    folder.commit();
    let exclude = folder.path().join(".git/info/exclude");
    let before = std::fs::read(&exclude).unwrap();
    folder.state().update_phase(&name("ship", None), "commit", &status(Status::Complete), minute(0)).unwrap();
    assert_eq!(folder.git(&["status", "--porcelain", "--untracked-files=all"]), "");
    folder.git(&["check-ignore", ".claude/state/ship-checkpoint.json"]);
    assert_eq!(std::fs::read(folder.path().join(".gitignore")).unwrap(), b"target\n");
    assert_eq!(std::fs::read(&exclude).unwrap(), before);
    std::fs::write(folder.file(".gitignore"), "*.json\n").unwrap();
    folder.state().update_phase(&name("ship", None), "push", &status(Status::Complete), minute(0)).unwrap();
    assert_eq!(
        std::fs::read(folder.file(".gitignore")).unwrap(),
        b"*.json\n",
        "someone else's is left alone"
    );
}

/// A file that another tool wrote: it loads, and what we do not know stays where it was.
#[test]
fn unknown_keys_stay_in_their_places() {
    let folder = Folder::with_git();
    folder.write("implement-checkpoint-infrastructure.json", SAMPLE);
    let (state, name) = (folder.state(), name("implement", Some("checkpoint-infrastructure")));
    let loaded = state.load(&name).unwrap();
    let point = workflow::ResumePoint::of(loaded.workflow.unwrap().file());
    assert_eq!(point.phase.as_deref(), Some("implementation"));
    assert_eq!(point.summary.as_deref(), Some("Five files; the counter comes first."));
    assert_eq!(point.task.as_deref(), Some("T002"));
    state.update_phase(&name, "implementation", &status(Status::Complete), minute(90)).unwrap();
    let text = std::fs::read_to_string(folder.file("implement-checkpoint-infrastructure.json")).unwrap();
    let mut expected: Value = serde_json::from_str(SAMPLE).unwrap();
    expected["head_commit"] = state.head().unwrap().into();
    expected["updated_at"] = "2026-01-29T12:00:00.000Z".into();
    expected["state"]["current_phase"] = Value::Null;
    expected["state"]["completed_phases"] = json!(["research", "design", "implementation"]);
    expected["phases"]["implementation"]["status"] = "complete".into();
    expected["phases"]["implementation"]["updated_at"] = "2026-01-29T12:00:00.000Z".into();
    assert_eq!(text, serde_json::to_string_pretty(&expected).unwrap() + "\n");
}

#[test]
fn the_seven_commands_have_their_usual_phases() {
    let folder = Folder::with_git();
    let expected = [
        ("start", json!(["branch", "issue-creation"])),
        ("design", json!(["research", "planning", "specs"])),
        ("reconcile", json!(["analysis", "reconciliation"])),
        ("research", json!(["discovery", "synthesis"])),
        ("implement", json!(["implementation", "validation"])),
        ("ship", json!(["pre-flight", "commit", "push"])),
        ("review", json!(["analysis", "feedback"])),
    ];
    for (command, phases) in expected {
        let name = name(command, None);
        let started = folder.state().start(&name, None, workflow::Begin::Resume, minute(0)).unwrap();
        assert!(!started.resumed);
        assert_eq!(folder.json(&format!("{command}-checkpoint.json"))["state"]["pending_phases"], phases);
    }
}

/// What another had saved meanwhile is not overwritten.
#[test]
fn save_of_a_file_that_changed_meanwhile_is_refused() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("design", None));
    state.update_phase(&name, "research", &status(Status::InProgress), minute(0)).unwrap();
    let read = state.load(&name).unwrap().workflow.unwrap();
    state.update_phase(&name, "research", &status(Status::Complete), minute(1)).unwrap();
    let late = state.save(&name, Some(&read), &read, minute(2));
    assert!(matches!(late, Err(WorkflowError::Changed { .. })), "{late:?}");
    let blind = state.save(&name, None, &read, minute(2));
    assert!(matches!(blind, Err(WorkflowError::Changed { .. })), "{blind:?}");
    assert_eq!(folder.json("design-checkpoint.json")["phases"]["research"]["status"], "complete");
}

/// Clocks go back; nothing depends on their going forward.
#[test]
fn a_clock_that_jumps_back_changes_no_order() {
    let folder = Folder::with_git();
    let (state, name) = (folder.state(), name("design", None));
    for (phase, at) in [("research", 60), ("planning", 0), ("specs", -100_000)] {
        state.update_phase(&name, phase, &summed_up(Status::Complete, phase), minute(at)).unwrap();
    }
    let point = state.resume_point(&name).unwrap().0;
    assert_eq!(point.summary.as_deref(), Some("specs"));
    assert_eq!(state.history(&name).unwrap().len(), 3);
}
