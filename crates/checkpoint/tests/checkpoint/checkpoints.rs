//! Checkpoints on a real disk.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use checkpoint::layout::Layout;
use checkpoint::manifest::{Reason, Status};
use checkpoint::{
    Depth, SaveError, SaveRequest, SaveWarning, SavedCheckpoint, SizeLimits, add_partial, emergency,
    last_valid, list, prune, restore, save, validate,
};
use jiff::{Timestamp, ToSpan as _};
use sandbox::{now, wait_for};

pub(crate) struct Project {
    folder: tempfile::TempDir,
    pub(crate) layout: Layout,
}

impl Project {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let layout = Layout::new(folder.path(), "churn", "run-001").unwrap();
        Self { folder, layout }
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn request(&self, stage: &str, artifacts: &[&str]) -> SaveRequest {
        let mut request = SaveRequest::new(stage, Timestamp::try_from(now()).unwrap());
        request.artifacts = artifacts.iter().map(PathBuf::from).collect();
        request
    }

    pub(crate) fn save(&self, stage: &str, artifacts: &[&str]) -> SavedCheckpoint {
        save(&self.layout, &self.request(stage, artifacts)).unwrap()
    }

    fn issues(&self, id: &str) -> Vec<String> {
        let validated = validate(&self.layout, id, Depth::Full).unwrap();
        validated.issues.iter().map(ToString::to_string).collect()
    }

    fn last(&self) -> Option<String> {
        last_valid(self.root(), "churn", Some("run-001"), Depth::Full)
            .unwrap()
            .checkpoint
            .map(|found| found.id)
    }

    fn ids(&self) -> Vec<String> {
        let listing = list(self.root(), Some("churn"), None).unwrap();
        listing.checkpoints.into_iter().map(|found| found.checkpoint_id).collect()
    }

    pub(crate) fn objects(&self) -> Vec<PathBuf> {
        let prefixes = fs::read_dir(self.layout.store()).unwrap().flatten();
        let prefixes = prefixes.filter(|entry| entry.file_name().len() == 2);
        let mut objects: Vec<PathBuf> = prefixes
            .flat_map(|prefix| fs::read_dir(prefix.path()).unwrap().flatten())
            .map(|entry| entry.path())
            .collect();
        objects.sort();
        objects
    }

    /// Waits until the file system's clock has moved on, so that what was written counts as settled.
    pub(crate) fn tick(&self) {
        let probe = self.path(".tick");
        let now = || {
            fs::write(&probe, "").unwrap();
            let metadata = fs::metadata(&probe).unwrap();
            (metadata.mtime(), metadata.mtime_nsec())
        };
        let before = now();
        while now() == before {
            std::thread::yield_now();
        }
        fs::remove_file(probe).unwrap();
    }
}

fn id(saved: &SavedCheckpoint) -> String {
    saved.sealed.manifest.checkpoint_id.clone()
}

#[test]
fn a_checkpoint_holds_what_its_artifacts_were() {
    let project = Project::new();
    project.write("data/a.csv", "one\n");
    let absolute = project.path("data/a.csv");
    let mut request = project.request("S01_load_data", &[]);
    request.artifacts.push(absolute);
    let saved = save(&project.layout, &request).unwrap();
    assert_eq!(saved.path, project.layout.manifest(&id(&saved)).unwrap());
    assert_eq!(fs::read_to_string(&saved.path).unwrap(), saved.sealed.text);
    let artifact = &saved.sealed.manifest.artifacts[0];
    assert_eq!((artifact.relative_path.as_str(), artifact.size_bytes), ("data/a.csv", 4));
    assert_eq!(artifact.sha256, checkpoint::hash::of_bytes(b"one\n"));
    assert!(validate(&project.layout, &id(&saved), Depth::Full).unwrap().is_valid());
}

#[test]
fn what_is_checkpointed_survives_overwriting_in_place() {
    let project = Project::new();
    project.write("a", "one\n");
    fs::set_permissions(project.path("a"), fs::Permissions::from_mode(0o755)).unwrap();
    let saved = project.save("S01_load_data", &["a"]);
    // As a program does that opens its file and writes into it.
    fs::OpenOptions::new()
        .write(true)
        .open(project.path("a"))
        .and_then(|mut file| std::io::Write::write_all(&mut file, b"two\n"))
        .unwrap();
    assert_eq!(project.issues(&id(&saved)), ["SHA256 mismatch for a"]);
    let found = last_valid(project.root(), "churn", None, Depth::Full).unwrap().checkpoint.unwrap();
    assert_eq!(found.to_restore.len(), 1);
    let restored = restore(&project.layout, &found.to_restore).unwrap();
    assert_eq!(restored, ["a"]);
    assert_eq!(project.read("a"), "one\n");
    assert!(validate(&project.layout, &id(&saved), Depth::Full).unwrap().is_valid());
    fs::remove_file(project.path("a")).unwrap();
    restore(&project.layout, &saved.sealed.manifest.artifacts).unwrap();
    assert_eq!(fs::metadata(project.path("a")).unwrap().mode() & 0o777, 0o755);
}

#[test]
fn a_damaged_store_is_not_restored_from() {
    let project = Project::new();
    project.write("a", "one\n");
    let saved = project.save("S01_load_data", &["a"]);
    let object = &project.objects()[0];
    fs::set_permissions(object, fs::Permissions::from_mode(0o644)).unwrap();
    fs::write(object, "bad\n").unwrap();
    fs::remove_file(project.path("a")).unwrap();
    assert!(!validate(&project.layout, &id(&saved), Depth::Quick).unwrap().is_usable());
    assert!(restore(&project.layout, &saved.sealed.manifest.artifacts).is_err());
    assert!(!project.path("a").exists());
    // Saving again mends it.
    project.write("a", "one\n");
    project.save("S01_load_data", &["a"]);
    assert_eq!(fs::read_to_string(object).unwrap(), "one\n");
}

/// R6
#[test]
fn r6_what_cannot_be_an_artifact_is_refused_and_nothing_is_saved() {
    let project = Project::new();
    project.write("a", "one\n");
    fs::create_dir(project.path("folder")).unwrap();
    std::os::unix::fs::symlink("a", project.path("link")).unwrap();
    std::os::unix::fs::symlink("folder", project.path("linked")).unwrap();
    project.write("folder/b", "");
    sandbox::make_pipe(project.path("pipe"));
    let outside = tempfile::NamedTempFile::new().unwrap();
    for (path, told) in [
        ("missing", "Artifact not found: missing"),
        ("folder/missing", "Artifact not found: folder/missing"),
        ("folder", "Artifact is not a regular file: folder"),
        ("pipe", "Artifact is not a regular file: pipe"),
        ("link", "Artifact is a symlink (not allowed): link"),
        ("linked/b", "Parent directory is a symlink: linked"),
        ("../x", "Path traversal detected: ../x"),
        (
            outside.path().to_str().unwrap(),
            &format!("Not inside the project root: {}", outside.path().display()),
        ),
    ] {
        let error = save(&project.layout, &project.request("S01_load_data", &["a", path])).unwrap_err();
        assert_eq!(error.to_string(), told);
    }
    let twice = save(&project.layout, &project.request("S01_load_data", &["a", "./a"]));
    assert!(matches!(twice, Err(SaveError::Twice { .. })));
    assert!(project.ids().is_empty());
}

#[test]
fn every_issue_is_told_in_the_words_of_the_format() {
    let project = Project::new();
    for name in ["gone", "longer", "other", "link", "parent/x"] {
        project.write(name, "one\n");
    }
    let saved = project.save("S01_load_data", &["gone", "longer", "other", "link", "parent/x"]);
    fs::remove_file(project.path("gone")).unwrap();
    project.write("longer", "longer\n");
    project.write("other", "two\n");
    fs::rename(project.path("link"), project.path("target")).unwrap();
    std::os::unix::fs::symlink("target", project.path("link")).unwrap();
    fs::rename(project.path("parent"), project.path("elsewhere")).unwrap();
    std::os::unix::fs::symlink("elsewhere", project.path("parent")).unwrap();
    assert_eq!(
        project.issues(&id(&saved)),
        [
            "Artifact not found: gone",
            "Size mismatch for longer: expected 4, got 7",
            "SHA256 mismatch for other",
            "Artifact is a symlink (not allowed): link",
            "Parent directory is a symlink: parent",
        ]
    );
    let text = saved.sealed.text.replace("S01_load_data", "S01_load_date");
    fs::write(&saved.path, &text).unwrap();
    let expected = &saved.sealed.manifest_sha256;
    let actual = checkpoint::manifest::digest_of(&text).unwrap();
    assert_eq!(
        project.issues(&id(&saved)),
        [format!("Manifest SHA256 mismatch: expected {expected} got {actual}")]
    );
    fs::write(&saved.path, &saved.sealed.text.as_bytes()[..100]).unwrap();
    assert_eq!(project.issues(&id(&saved)), ["Manifest failed to parse or validate"]);
    fs::remove_file(&saved.path).unwrap();
    let relative = project.layout.relative(&saved.path);
    assert_eq!(project.issues(&id(&saved)), [format!("Manifest not found: {relative}")]);
}

#[test]
fn a_manifest_in_another_ones_place_is_not_valid() {
    let project = Project::new();
    let one = project.save("S01_load_data", &[]);
    let other = project.save("S02_load_data", &[]);
    fs::copy(&one.path, &other.path).unwrap();
    assert_eq!(
        project.issues(&id(&other)),
        [format!("Manifest belongs to another checkpoint: run-001/{}", id(&one))]
    );
    assert_eq!(project.last(), Some(id(&one)));
}

#[test]
fn untouched_artifacts_are_not_read_again() {
    let project = Project::new();
    project.write("a", "one\n");
    project.write("b", "two\n");
    project.tick();
    let first = project.save("S01_load_data", &["a", "b"]);
    assert_eq!((first.new_objects, first.read), (2, 2));
    let second = project.save("S02_load_data", &["a", "b"]);
    assert_eq!((second.new_objects, second.read), (0, 0));
    project.write("a", "six\n");
    project.tick();
    let third = project.save("S03_load_data", &["a", "b"]);
    assert_eq!((third.new_objects, third.read), (1, 1));
    let mut full = project.request("S04_load_data", &["a", "b"]);
    full.depth = Depth::Full;
    let fourth = save(&project.layout, &full).unwrap();
    assert_eq!((fourth.new_objects, fourth.read), (0, 2));
    assert_eq!(project.objects().len(), 3);
}

/// Written again with the same size and the same time of modification: the time of change tells.
#[test]
fn a_file_whose_times_were_set_back_is_read_again() {
    let project = Project::new();
    project.write("a", "one\n");
    project.tick();
    project.save("S01_load_data", &["a"]);
    let modified = fs::metadata(project.path("a")).unwrap().modified().unwrap();
    project.write("a", "two\n");
    fs::File::options().write(true).open(project.path("a")).unwrap().set_modified(modified).unwrap();
    let saved = project.save("S02_load_data", &["a"]);
    assert_eq!(saved.sealed.manifest.artifacts[0].sha256, checkpoint::hash::of_bytes(b"two\n"));
}

/// A time that is not yet over when the file is read proves nothing about what comes after.
#[test]
fn a_file_that_is_not_settled_is_read_again() {
    let project = Project::new();
    project.write("a", "one\n");
    let future = now() + Duration::from_secs(3600);
    fs::File::options().write(true).open(project.path("a")).unwrap().set_modified(future).unwrap();
    project.tick();
    assert_eq!(project.save("S01_load_data", &["a"]).read, 1);
    assert_eq!(project.save("S02_load_data", &["a"]).read, 1);
}

#[test]
fn what_is_known_is_only_a_cache() {
    let project = Project::new();
    project.write("a", "one\n");
    project.tick();
    project.save("S01_load_data", &["a"]);
    let parts = || {
        let parts = fs::read_dir(project.layout.store().join(".known")).unwrap();
        parts.map(|part| part.unwrap().path()).collect::<Vec<_>>()
    };
    type Damage = fn(&[u8]) -> Vec<u8>;
    let damages: [Damage; 4] =
        [|_| Vec::new(), |text| text[..text.len() / 2].to_vec(), |_| vec![0; 500], |_| b"{}".to_vec()];
    for damage in damages {
        for part in parts() {
            fs::write(&part, damage(&fs::read(&part).unwrap())).unwrap();
        }
        let saved = project.save("S02_load_data", &["a"]);
        assert_eq!(saved.read, 1);
        assert!(validate(&project.layout, &id(&saved), Depth::Quick).unwrap().is_valid());
    }
    // An object that was not seen flushed is written anew, also where it has the right name.
    fs::remove_dir_all(project.layout.store().join(".known")).unwrap();
    let inode = fs::metadata(&project.objects()[0]).unwrap().ino();
    project.save("S03_load_data", &["a"]);
    assert_ne!(fs::metadata(&project.objects()[0]).unwrap().ino(), inode);
}

/// What is known of files that are gone goes too, so that it does not grow with every run that ever was.
#[test]
fn what_is_known_shrinks_with_what_is_pruned() {
    let project = Project::new();
    let known = || -> usize {
        let parts = fs::read_dir(project.layout.store().join(".known")).unwrap();
        let parts = parts.map(|part| fs::read_to_string(part.unwrap().path()).unwrap());
        parts.map(|part| part.matches("\"file-").count()).sum()
    };
    for number in 0..10 {
        let name = format!("file-{number}");
        project.write(&name, &format!("{number}\n"));
        project.tick();
        project.save("S01_load_data", &[&name]);
    }
    assert_eq!(known(), 10);
    (0..9).for_each(|number| fs::remove_file(project.path(&format!("file-{number}"))).unwrap());
    prune(&project.layout, 1).unwrap();
    assert_eq!(known(), 1);
}

#[test]
fn equal_contents_are_kept_once_and_holes_stay_holes() {
    let project = Project::new();
    for name in ["a", "b", "c"] {
        let file = fs::File::create(project.path(name)).unwrap();
        file.set_len(64 << 20).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"middle", 32 << 20).unwrap();
    }
    let saved = project.save("S01_load_data", &["a", "b", "c"]);
    assert_eq!(project.objects().len(), 1);
    let metadata = fs::metadata(&project.objects()[0]).unwrap();
    assert_eq!(metadata.len(), 64 << 20);
    assert!(metadata.blocks() * 512 < 1 << 20, "{}", metadata.blocks());
    let content = fs::read(project.path("a")).unwrap();
    assert_eq!(saved.sealed.manifest.artifacts[0].sha256, checkpoint::hash::of_bytes(&content));
    fs::remove_file(project.path("a")).unwrap();
    restore(&project.layout, &saved.sealed.manifest.artifacts[..1]).unwrap();
    assert_eq!(fs::read(project.path("a")).unwrap(), content);
    assert!(fs::metadata(project.path("a")).unwrap().blocks() * 512 < 1 << 20);
}

/// R5
#[test]
fn r5_the_latest_is_by_number_and_time_with_ties_and_clocks_that_go_back() {
    let project = Project::new();
    let now = Timestamp::try_from(now()).unwrap();
    let mut expected = Vec::new();
    for offset in [0, 0, -3600, 7200, -86_400] {
        let mut request = project.request("S01_load_data", &[]);
        request.now = now + offset.seconds();
        expected.insert(0, id(&save(&project.layout, &request).unwrap()));
    }
    assert_eq!(project.ids(), expected);
    assert_eq!(project.last().as_ref(), expected.first());
    // Another run is newer by its time.
    let other = Layout::new(project.root(), "churn", "run-000").unwrap();
    let mut request = project.request("S01_load_data", &[]);
    request.now = now + 3.hours();
    let newest = id(&save(&other, &request).unwrap());
    assert_eq!(project.ids()[0], newest);
    let found = last_valid(project.root(), "churn", None, Depth::Quick).unwrap().checkpoint.unwrap();
    assert_eq!((found.run.as_str(), &found.id), ("run-000", &newest));
}

/// R5, with checkpoints of another tool, whose ids say nothing
#[test]
fn r5_other_tools_checkpoints_are_ordered_by_their_time() {
    let project = Project::new();
    let mut manifest = project.save("S01_load_data", &[]).sealed.manifest;
    fs::remove_dir_all(project.layout.run_checkpoints()).unwrap();
    for (id, time) in
        [("zzz", "2026-01-01T10:00:00Z"), ("aaa", "2026-01-01T10:00:02.5Z"), ("mmm", "2026-01-01T10:00:01Z")]
    {
        manifest.checkpoint_id = id.to_owned();
        manifest.created_at = time.to_owned();
        let path = project.layout.manifest(id).unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, manifest.seal().unwrap().text).unwrap();
    }
    assert_eq!(project.ids(), ["aaa", "mmm", "zzz"]);
}

#[test]
fn those_that_cannot_be_used_are_skipped_with_the_reason() {
    let project = Project::new();
    project.write("a", "one\n");
    let good = project.save("S01_load_data", &["a"]);
    project.write("b", "two\n");
    let lost = project.save("S02_load_data", &["b"]);
    let torn = project.save("S03_load_data", &[]);
    fs::write(&torn.path, "").unwrap();
    fs::remove_file(project.path("b")).unwrap();
    let sha256 = &lost.sealed.manifest.artifacts[0].sha256;
    fs::remove_file(project.layout.store().join(&sha256[..2]).join(sha256)).unwrap();
    let found = last_valid(project.root(), "churn", Some("run-001"), Depth::Quick).unwrap();
    assert_eq!(found.checkpoint.unwrap().id, id(&good));
    assert_eq!(found.searched, 3);
    let reasons: Vec<(String, String)> =
        found.skipped.iter().map(|skipped| (skipped.id.clone(), skipped.issues[0].to_string())).collect();
    assert_eq!(
        reasons,
        [
            (id(&torn), "Manifest failed to parse or validate".to_owned()),
            (id(&lost), "Artifact not found: b".to_owned()),
        ]
    );
}

/// R3
#[test]
fn r3_an_emergency_checkpoint_is_valid_listed_and_waits_for_no_lock() {
    let project = Project::new();
    project.write("a", "one\n");
    let before = project.save("S01_load_data", &["a"]);
    // Everything that can be locked is locked, by somebody who will not give it back.
    let locks: Vec<fs::File> = ["lock", "commit-lock"]
        .map(|name| fs::File::open(project.layout.store().join(name)).unwrap())
        .into_iter()
        .chain([fs::File::create(project.layout.lock()).unwrap()])
        .collect();
    locks.iter().for_each(|lock| lock.lock().unwrap());
    let request =
        SaveRequest::emergency("S02_train_model", Reason::Timeout, Timestamp::try_from(now()).unwrap());
    let saved = emergency(&project.layout, &request).unwrap();
    let manifest = &saved.sealed.manifest;
    assert!(manifest.checkpoint_id.starts_with("ckpt-emergency-"));
    assert_eq!((manifest.status, manifest.reason), (Status::Interrupted, Some(Reason::Timeout)));
    assert_eq!(manifest.research_session_id, "unknown");
    assert_eq!(project.ids(), [id(&saved), id(&before)]);
    assert!(validate(&project.layout, &id(&saved), Depth::Full).unwrap().is_valid());
    // It holds on to what the one before held, and the stage comes again.
    assert_eq!(manifest.artifacts, before.sealed.manifest.artifacts);
    assert_eq!(manifest.next_stage_id().as_deref(), Some("S02_train_model"));
    drop(locks);
    let partial = project.layout.attempt("S02_train_model", 1).unwrap();
    fs::create_dir_all(&partial).unwrap();
    fs::write(partial.join("output.log"), "epoch 1\n").unwrap();
    let added = add_partial(&project.layout, &id(&saved), &[partial.join("output.log")]).unwrap();
    assert_eq!(added.sealed.manifest.artifacts.len(), 2);
    fs::remove_dir_all(&partial).unwrap();
    let found = last_valid(project.root(), "churn", None, Depth::Full).unwrap().checkpoint.unwrap();
    assert_eq!((found.id, found.to_restore.len()), (id(&saved), 1));
}

/// R7
#[test]
fn r7_prune_keeps_the_newest_valid_one_whatever_is_newer() {
    let project = Project::new();
    project.write("a", "one\n");
    let mut ids = Vec::new();
    for number in 0..4 {
        let mut request = project.request(&format!("S0{number}_load_data"), &["a"]);
        request.keep = 100;
        ids.push(save(&project.layout, &request).unwrap());
    }
    let valid = id(&ids[1]);
    for torn in &ids[2..] {
        fs::write(&torn.path, "{").unwrap();
    }
    let pruned = prune(&project.layout, 1).unwrap();
    assert_eq!((pruned.total_before, pruned.kept, pruned.keep_count), (4, 2, 1));
    assert_eq!(pruned.pruned_ids, [id(&ids[2]), id(&ids[0])]);
    assert_eq!(project.last(), Some(valid));
    assert_eq!(prune(&project.layout, 0).unwrap().kept, 1);
}

/// R7: nor does a row of emergencies push the last ordinary one out.
#[test]
fn r7_emergencies_do_not_push_out_the_last_saved_one() {
    let project = Project::new();
    project.write("a", "one\n");
    let saved = project.save("S01_load_data", &["a"]);
    for _ in 0..8 {
        emergency(
            &project.layout,
            &SaveRequest::emergency("S02_x_y", Reason::Error, Timestamp::try_from(now()).unwrap()),
        )
        .unwrap();
    }
    prune(&project.layout, 3).unwrap();
    assert_eq!(project.ids().len(), 4);
    assert!(project.ids().contains(&id(&saved)));
}

/// What a stage saved on its way stays until the stage is done, and no longer; of several only the newest.
#[test]
fn what_a_stage_saved_on_its_way_stays_until_it_is_done() {
    let project = Project::new();
    project.write("a", "one\n");
    let half_way = |stage: &str| {
        let mut request = project.request(stage, &["a"]);
        (request.status, request.reason) = (Status::Interrupted, Some(Reason::Abort));
        id(&save(&project.layout, &request).unwrap())
    };
    let (older, newer) = (half_way("S01_train_model"), half_way("S01_train_model"));
    for number in 2..10 {
        project.save(&format!("S0{number}_load_data"), &["a"]);
    }
    let kept = || {
        let ids = project.ids();
        let of_stage: Vec<String> = ids.iter().filter(|id| [&older, &newer].contains(id)).cloned().collect();
        (ids.len(), of_stage)
    };
    assert_eq!(kept(), (6, vec![newer.clone()]));
    project.save("S01_train_model", &["a"]);
    assert_eq!(kept(), (5, Vec::new()));
}

#[test]
fn saving_keeps_five_and_frees_what_nothing_refers_to() {
    let project = Project::new();
    project.write("same", "same\n");
    for number in 0..12 {
        project.write("a", &format!("{number}\n"));
        project.save("S01_load_data", &["a", "same"]);
    }
    assert_eq!(project.ids().len(), 5);
    assert_eq!(project.objects().len(), 6);
    for id in project.ids() {
        assert!(validate(&project.layout, &id, Depth::Full).unwrap().is_usable());
    }
    // Another run of the title holds on to its own.
    let other = Layout::new(project.root(), "churn", "run-002").unwrap();
    project.write("a", "other\n");
    let held = save(&other, &project.request("S01_load_data", &["a"])).unwrap();
    prune(&project.layout, 1).unwrap();
    assert_eq!(project.objects().len(), 3);
    assert!(validate(&other, &id(&held), Depth::Full).unwrap().is_valid());
}

#[test]
fn what_a_damaged_manifest_refers_to_stays() {
    let project = Project::new();
    project.write("a", "one\n");
    let first = project.save("S01_load_data", &["a"]);
    fs::write(&first.path, first.sealed.text.replace("\"saved\"", "\"savxd\"")).unwrap();
    project.save("S02_load_data", &[]);
    prune(&project.layout, 5).unwrap();
    assert_eq!(project.objects().len(), 1);
}

#[test]
fn prune_clears_away_what_killed_processes_left() {
    let project = Project::new();
    project.save("S01_load_data", &[]);
    let temporary = project.layout.store().join(".tmp");
    fs::create_dir(temporary.join("checkpoint-0")).unwrap();
    fs::write(temporary.join("checkpoint-0/checkpoint.json"), "{").unwrap();
    fs::write(temporary.join("object-0"), "half").unwrap();
    prune(&project.layout, 5).unwrap();
    assert_eq!(fs::read_dir(temporary).unwrap().count(), 0);
}

/// Garbage collection never takes what a save is about to refer to.
#[test]
fn many_save_and_prune_at_once_and_every_checkpoint_is_whole() {
    let project = Project::new();
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let project = &project;
            scope.spawn(move || {
                let layout = Layout::new(project.root(), "churn", &format!("run-{worker}")).unwrap();
                for round in 0..15 {
                    let name = format!("w{worker}");
                    // Contents come and go, and are shared among the runs.
                    project.write(&name, &format!("{}\n", round % 4));
                    let mut request = project.request("S01_load_data", &[&name]);
                    request.keep = 1;
                    let saved = save(&layout, &request).unwrap();
                    if round % 3 == worker % 3 {
                        prune(&layout, 1).unwrap();
                    }
                    let validated = validate(&layout, &id(&saved), Depth::Full).unwrap();
                    assert!(validated.is_valid(), "{:?}", validated.issues);
                    fs::remove_file(project.path(&name)).unwrap();
                    assert!(validate(&layout, &id(&saved), Depth::Full).unwrap().is_usable());
                }
            });
        }
    });
}

#[test]
fn many_prune_one_run_at_once() {
    let project = Project::new();
    for round in 0..5 {
        for number in 0..8 {
            project.write("a", &format!("{round} {number}\n"));
            let mut request = project.request("S01_load_data", &["a"]);
            request.keep = 100;
            save(&project.layout, &request).unwrap();
        }
        std::thread::scope(|scope| {
            let pruning: Vec<_> =
                (0..4).map(|_| scope.spawn(|| prune(&project.layout, 2).unwrap())).collect();
            pruning.into_iter().for_each(|one| assert_eq!(one.join().unwrap().keep_count, 2));
        });
        assert_eq!((project.ids().len(), project.objects().len()), (2, 2));
    }
}

#[test]
fn checkpoints_that_are_saved_at_once_get_numbers_of_their_own() {
    let project = Project::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let mut request = project.request("S01_load_data", &[]);
                    request.keep = 100;
                    save(&project.layout, &request).unwrap();
                }
            });
        }
    });
    let mut numbers: Vec<String> = project.ids().iter().map(|id| id[5..11].to_owned()).collect();
    numbers.sort();
    numbers.dedup();
    assert_eq!(numbers.len(), 20);
}

#[test]
fn size_limits_warn_and_then_refuse() {
    let project = Project::new();
    project.write("a", "12345");
    let mut request = project.request("S01_load_data", &["a"]);
    request.limits = SizeLimits { warn: 4, refuse: 5 };
    assert_eq!(
        save(&project.layout, &request).unwrap().warnings,
        [SaveWarning::Large { total: 5, limit: 4 }]
    );
    request.limits.refuse = 4;
    assert!(matches!(save(&project.layout, &request), Err(SaveError::TooLarge { total: 5, limit: 4 })));
    assert_eq!(project.ids().len(), 1);
}

/// R11
#[test]
fn r11_whatever_is_in_a_lock_file_nobody_is_kept_out() {
    let project = Project::new();
    project.save("S01_load_data", &[]);
    for content in ["", "4711", "{\"pid\":", "\0\0\0"] {
        for name in ["lock", "commit-lock"] {
            fs::write(project.layout.store().join(name), content).unwrap();
        }
        project.save("S02_load_data", &[]);
    }
}

/// R15
#[test]
fn r15_a_folder_that_is_gone_is_a_clear_error() {
    let project = Project::new();
    let layout = Layout::new(&project.path("gone"), "churn", "run-001").unwrap();
    let error = save(&layout, &project.request("S01_load_data", &[])).unwrap_err().to_string();
    assert_eq!(error, format!("`{}` is not there", project.path("gone").display()));
    project.save("S01_load_data", &[]);
    fs::remove_dir_all(project.layout.checkpoints()).unwrap();
    // Made anew: the folder is ours.
    project.save("S01_load_data", &[]);
    assert_eq!(project.ids().len(), 1);
}

#[test]
fn a_save_waits_for_those_who_clean_up() {
    let project = Project::new();
    project.save("S01_load_data", &[]);
    let path = project.layout.store().join("lock").canonicalize().unwrap();
    let lock = fs::File::open(&path).unwrap();
    lock.lock().unwrap();
    std::thread::scope(|scope| {
        let saving = scope.spawn(|| project.save("S02_load_data", &[]));
        let opened = || {
            let files = fs::read_dir("/proc/self/fd").unwrap().flatten();
            let files = files.filter_map(|file| fs::read_link(file.path()).ok());
            files.filter(|file| *file == path).count()
        };
        wait_for("the save to look at the lock", || opened() > 1);
        assert!(!saving.is_finished());
        lock.unlock().unwrap();
        saving.join().unwrap();
    });
}

/// A reference takes no room in the store, and is lost with its file.
#[test]
fn a_reference_is_listed_and_not_stored() {
    let project = Project::new();
    project.write("a", "one\n");
    project.write("b", "two\n");
    project.tick();
    let mut request = project.request("S01_load_data", &["a"]);
    request.references = vec![PathBuf::from("b")];
    let saved = save(&project.layout, &request).unwrap();
    let paths: Vec<&str> =
        saved.sealed.manifest.artifacts.iter().map(|artifact| artifact.relative_path.as_str()).collect();
    assert_eq!(paths, ["a", "b"]);
    assert_eq!((project.objects().len(), saved.new_objects, saved.read), (1, 1, 2));
    assert!(validate(&project.layout, &id(&saved), Depth::Full).unwrap().is_valid());
    // It is known, as any other.
    let again = save(&project.layout, &request).unwrap();
    assert_eq!((again.new_objects, again.read, again.identities.len()), (0, 0, 2));
    fs::remove_file(project.path("b")).unwrap();
    let validated = validate(&project.layout, &id(&again), Depth::Quick).unwrap();
    assert_eq!((validated.is_usable(), validated.lost.len()), (false, 1));
    request.references.push(PathBuf::from("a"));
    assert!(matches!(save(&project.layout, &request), Err(SaveError::Twice { .. })));
}
