//! Who may not read an artifact may not read the store's copy of it, nor what is restored; who may read it may read that.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;

use checkpoint::manifest::{Artifact, Reason, Status};
use checkpoint::{FileHashes, SaveRequest, SavedCheckpoint, restore, save};

use crate::checkpoints::Project;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

impl Project {
    fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn write_with_mode(&self, name: &str, text: &str, mode: u32) {
        self.write(name, text);
        self.set_mode(name, mode);
    }

    fn object_modes(&self) -> Vec<u32> {
        self.objects().iter().map(|object| mode(object)).collect()
    }

    /// The modes with which the artifacts come back to where nothing is.
    fn restored(&self, saved: &SavedCheckpoint) -> Vec<u32> {
        self.restored_as(&saved.sealed.manifest.artifacts)
    }

    fn restored_as(&self, artifacts: &[Artifact]) -> Vec<u32> {
        let paths = || artifacts.iter().map(|artifact| self.path(&artifact.relative_path));
        paths().for_each(|path| fs::remove_file(path).unwrap());
        restore(&self.layout, artifacts).unwrap();
        paths().map(|path| mode(&path)).collect()
    }
}

#[test]
fn files_of_the_same_content_are_restored_each_with_its_own_permissions() {
    let modes = [("private", 0o600), ("public", 0o644), ("group", 0o640), ("script", 0o755)];
    for first in 0..modes.len() {
        let project = Project::new();
        modes.iter().for_each(|(name, mode)| project.write_with_mode(name, "same\n", *mode));
        let mut order = modes;
        order.rotate_left(first);
        let names = order.map(|(name, _)| name);
        // One after the other, and at once.
        let saves = [&names[..1], &names[1..2], &names[2..3], &names[3..], &names[..]];
        let saved = saves.map(|names| project.save("S01_load_data", names));
        assert_eq!(project.object_modes().iter().map(|mode| mode & 0o477).collect::<Vec<_>>(), [0o400]);
        for saved in saved {
            let artifacts = &saved.sealed.manifest.artifacts;
            let of = |artifact: &Artifact| modes.iter().find(|(name, _)| *name == artifact.relative_path);
            let expected: Vec<u32> = artifacts.iter().map(|artifact| of(artifact).unwrap().1).collect();
            assert_eq!(project.restored(&saved), expected, "{order:?}");
        }
    }
}

/// All of one save, of which any may come first.
#[test]
fn the_most_private_of_many_files_says_who_may_read_their_copy() {
    for _ in 0..20 {
        let project = Project::new();
        let names: Vec<String> = (0..16).map(|number| format!("{number}")).collect();
        names.iter().for_each(|name| project.write_with_mode(name, "same\n", 0o644));
        project.set_mode("15", 0o600);
        project.save("S01_load_data", &names.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(project.object_modes(), [0o400]);
    }
}

#[test]
fn an_artifact_that_becomes_private_has_a_private_copy() {
    let project = Project::new();
    project.write_with_mode("a", "one\n", 0o755);
    project.save("S01_load_data", &["a"]);
    assert_eq!(project.object_modes(), [0o555]);
    project.set_mode("a", 0o700);
    assert_eq!(project.save("S02_train_model", &["a"]).new_objects, 0);
    assert_eq!(project.object_modes(), [0o500]);
    // It is still known as flushed, so that it is not copied again.
    project.write("b", "one\n");
    assert_eq!(project.save("S03_test_model", &["b"]).new_objects, 0);
    assert_eq!(project.object_modes(), [0o500]);
}

/// One that somebody has read since, so that it is known by its identity and not read again.
#[test]
fn an_artifact_that_is_not_read_again_has_a_private_copy() {
    let project = Project::new();
    project.write_with_mode("a", &"large\n".repeat(100_000), 0o644);
    project.save("S01_load_data", &["a"]);
    project.set_mode("a", 0o600);
    project.tick();
    let hashes = FileHashes::made(&project.layout).unwrap();
    hashes.content("a", &File::open(project.path("a")).unwrap(), &|| true).unwrap();
    let saved = project.save("S02_train_model", &["a"]);
    assert_eq!((saved.read, project.object_modes()), (0, vec![0o400]));
    assert_eq!(project.restored(&saved), [0o600]);
}

/// The store has forgotten what it knew, so the copy is made again.
#[test]
fn a_private_copy_is_not_replaced_by_one_that_others_may_read() {
    let project = Project::new();
    project.write_with_mode("private", "same\n", 0o600);
    project.save("S01_load_data", &["private"]);
    fs::remove_dir_all(project.layout.store().join(".known")).unwrap();
    project.write_with_mode("public", "same\n", 0o644);
    let saved = project.save("S02_train_model", &["public"]);
    assert_eq!((saved.new_objects, project.object_modes()), (1, vec![0o400]));
    assert_eq!(project.restored(&saved), [0o644]);
}

#[test]
fn an_artifact_of_an_older_version_is_restored_for_those_who_may_read_its_copy() {
    let project = Project::new();
    project.write_with_mode("private", "one\n", 0o600);
    project.write_with_mode("script", "two\n", 0o755);
    let saved = project.save("S01_load_data", &["private", "script"]);
    let older: Vec<Artifact> = saved
        .sealed
        .manifest
        .artifacts
        .iter()
        .map(|artifact| Artifact { permissions: None, ..artifact.clone() })
        .collect();
    assert_eq!(project.restored_as(&older), [0o600, 0o755]);
}

/// A program may have put another file there, and a person may have closed it.
#[test]
fn what_is_restored_over_a_file_is_open_to_nobody_who_could_not_read_both() {
    let project = Project::new();
    for (saved, present, expected) in
        [(0o600, 0o644, 0o600), (0o644, 0o600, 0o600), (0o644, 0o755, 0o644), (0o755, 0o775, 0o775)]
    {
        project.write_with_mode("a", "one\n", saved);
        let checkpoint = project.save("S01_load_data", &["a"]);
        project.write_with_mode("a", "two\n", present);
        restore(&project.layout, &checkpoint.sealed.manifest.artifacts).unwrap();
        assert_eq!(mode(&project.path("a")), expected, "{saved:o} {present:o}");
    }
}

/// They have one line in the manifest.
#[test]
fn what_a_stage_has_twice_half_way_is_restored_for_the_readers_of_both() {
    let project = Project::new();
    let folder = "reports/churn/run-001/.attempts/S01_load_data/1/artifacts";
    let [public, private] = ["public", "private"].map(|name| format!("{folder}/{name}"));
    project.write_with_mode(&public, "same\n", 0o644);
    project.write_with_mode(&private, "same\n", 0o600);
    let request = SaveRequest {
        status: Status::Interrupted,
        reason: Some(Reason::Abort),
        mid_stage: true,
        ..project.request("S01_load_data", &[&public, &private])
    };
    let saved = save(&project.layout, &request).unwrap();
    let artifacts: Vec<Artifact> =
        saved.sealed.manifest.artifacts.iter().flat_map(Artifact::in_attempt).collect();
    assert_eq!(project.restored_as(&artifacts), [0o600, 0o600]);
}
