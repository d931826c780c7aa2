//! Manifests and folders that somebody made to do harm.

use std::fs;
use std::os::unix::fs::symlink;

use checkpoint::manifest::{Artifact, TrustLevel};
use checkpoint::{Depth, last_valid, list, prune, restore, save, validate};

use crate::checkpoints::Project;

/// A checkpoint whose manifest names these paths, with content that the store has.
fn planted(project: &Project, paths: &[&str]) -> Vec<Artifact> {
    project.write("harmless", "evil\n");
    let mut manifest = project.save("S01_load_data", &["harmless"]).sealed.manifest;
    let artifact = manifest.artifacts[0].clone();
    manifest.artifacts =
        paths.iter().map(|path| Artifact { relative_path: (*path).to_owned(), ..artifact.clone() }).collect();
    manifest.checkpoint_id = "planted".to_owned();
    manifest.created_at = "2099-01-01T00:00:00Z".to_owned();
    let path = project.layout.manifest("planted").unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, manifest.seal().unwrap().text).unwrap();
    manifest.artifacts
}

#[test]
fn no_manifest_reads_or_writes_outside_the_root() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "evil\n").unwrap();
    let absolute = outside.path().join("secret");
    let project = Project::new();
    symlink(outside.path(), project.path("way-out")).unwrap();
    symlink(outside.path().join("new"), project.path("dangling")).unwrap();
    fs::create_dir(project.path(".git")).unwrap();
    for (path, told) in [
        (absolute.to_str().unwrap(), "Absolute paths not allowed: "),
        ("../secret", "Path traversal detected: ../secret"),
        ("a/../../secret", "Path traversal detected: "),
        ("way-out/secret", "Parent directory is a symlink: way-out"),
        ("way-out/new/deep", "Parent directory is a symlink: way-out"),
        ("dangling", "Artifact is a symlink (not allowed): dangling"),
        (".git/hooks/pre-commit", "Artifacts cannot be in the git folder: "),
    ] {
        let artifacts = planted(&project, &[path]);
        let validated = validate(&project.layout, "planted", Depth::Full).unwrap();
        assert!(validated.issues[0].to_string().starts_with(told), "{:?}", validated.issues);
        assert!(!validated.is_usable(), "{path}");
        assert!(restore(&project.layout, &artifacts).is_err(), "{path}");
        let found = last_valid(project.root(), "churn", None, Depth::Full).unwrap();
        assert_ne!(found.checkpoint.unwrap().id, "planted");
    }
    let names: Vec<_> =
        fs::read_dir(outside.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(names, ["secret"]);
    assert_eq!(fs::read_dir(project.path(".git")).unwrap().count(), 0);
}

#[test]
fn links_in_place_of_our_own_folders_are_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    for place in [
        "reports",
        "reports/churn",
        "reports/churn/checkpoints",
        "reports/churn/checkpoints/run-001",
        "reports/churn/checkpoints/.store",
        "reports/churn/checkpoints/.store/.tmp",
    ] {
        let project = Project::new();
        fs::create_dir_all(project.path(place).parent().unwrap()).unwrap();
        symlink(outside.path(), project.path(place)).unwrap();
        project.write("a", "one\n");
        let error = save(&project.layout, &project.request("S01_load_data", &["a"])).unwrap_err();
        assert!(error.to_string().ends_with("is a symbolic link"), "{place}: {error}");
    }
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn a_linked_manifest_or_checkpoint_is_not_read() {
    let project = Project::new();
    let saved = project.save("S01_load_data", &[]);
    let run = project.layout.run_checkpoints();
    symlink(saved.path.parent().unwrap(), run.join("linked")).unwrap();
    fs::create_dir(run.join("inside")).unwrap();
    symlink(&saved.path, run.join("inside/checkpoint.json")).unwrap();
    let listing = list(project.root(), None, None).unwrap();
    assert_eq!(listing.checkpoints.len(), 1);
    assert_eq!(listing.unreadable.len(), 1);
    for id in ["linked", "inside"] {
        assert!(!validate(&project.layout, id, Depth::Quick).unwrap().is_usable());
    }
    // Taking them away takes the links, not what they lead to.
    prune(&project.layout, 1).unwrap();
    assert!(saved.path.exists());
}

#[test]
fn names_of_titles_runs_and_checkpoints_lead_nowhere_else() {
    let project = Project::new();
    project.save("S01_load_data", &[]);
    for name in ["..", "../churn", "/etc", ".store", "a\0b", ""] {
        assert!(list(project.root(), Some(name), None).is_err(), "{name:?}");
        assert!(list(project.root(), Some("churn"), Some(name)).is_err(), "{name:?}");
        assert!(validate(&project.layout, name, Depth::Quick).is_err(), "{name:?}");
        assert!(last_valid(project.root(), name, None, Depth::Quick).is_err(), "{name:?}");
    }
}

/// R9: what is known of files is not believed for a checkpoint that comes from elsewhere, and its code is not given out.
#[test]
fn r9_an_imported_checkpoint_is_read_and_gives_no_code() {
    let project = Project::new();
    project.write("model.pkl", "pickle\n");
    project.tick();
    let mut request = project.request("S01_load_data", &["model.pkl"]);
    request.rehydrate = Some(|manifest| checkpoint::manifest::Rehydration {
        rehydration_cell_source: vec![format!("# {}", manifest.artifacts[0].relative_path)],
        ..checkpoint::manifest::Rehydration::default()
    });
    save(&project.layout, &request).unwrap();
    let output = |project: &Project| {
        let found = last_valid(project.root(), "churn", None, Depth::Quick).unwrap();
        checkpoint::output::ResumeOutput::from(&found)
    };
    assert_eq!(output(&project).rehydration_cells, ["# model.pkl"]);
    assert!(output(&project).trust_warning.is_none());
    for trust in [TrustLevel::Imported, TrustLevel::Untrusted] {
        request.trust = trust;
        save(&project.layout, &request).unwrap();
        assert!(output(&project).rehydration_cells.is_empty());
        assert!(output(&project).trust_warning.is_some());
    }
}

#[test]
fn a_pipe_in_place_of_a_manifest_or_lock_does_not_hang() {
    let project = Project::new();
    let saved = project.save("S01_load_data", &[]);
    let fifo = |path: &std::path::Path| {
        fs::remove_file(path).unwrap();
        sandbox::make_pipe(path);
    };
    fifo(&saved.path);
    assert!(
        !validate(&project.layout, &saved.sealed.manifest.checkpoint_id, Depth::Quick).unwrap().is_usable()
    );
    fifo(&project.layout.store().join("lock"));
    let _ = save(&project.layout, &project.request("S01_load_data", &[]));
}

#[test]
fn a_huge_manifest_is_not_read() {
    let project = Project::new();
    let saved = project.save("S01_load_data", &[]);
    fs::File::options().write(true).open(&saved.path).unwrap().set_len(1 << 40).unwrap();
    let id = &saved.sealed.manifest.checkpoint_id;
    let validated = validate(&project.layout, id, Depth::Quick).unwrap();
    assert_eq!(validated.issues[0].to_string(), "Manifest failed to parse or validate");
    assert_eq!(list(project.root(), None, None).unwrap().unreadable.len(), 1);
}
