//! A project folder with checkpoints, and what must be true of it at any time.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use checkpoint::layout::Layout;
use checkpoint::{Depth, SaveRequest, last_valid, list, save, validate};
use sandbox::{Answer, RunToEnd as _, now, wait_for};
use serde_json::Value;

use crate::program;
use crate::workplace::valid;

pub(crate) struct Project {
    _folder: Option<tempfile::TempDir>,
    root: PathBuf,
}

impl Project {
    /// Beside the built program, which is a disk; the folder for temporary files may be memory.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let root = folder.path().canonicalize().unwrap();
        // Nothing around it is its repository.
        fs::create_dir(root.join(".git")).unwrap();
        Self { _folder: Some(folder), root }
    }

    pub(crate) fn at(root: &Path) -> Self {
        fs::create_dir_all(root.join(".git")).unwrap();
        Self { _folder: None, root: root.canonicalize().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    pub(crate) fn layout(&self) -> Layout {
        Layout::new(&self.root, "churn", "run-001").unwrap()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = program::checkstone(&["checkpoint"]);
        command.args(arguments).current_dir(&self.root).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Answer {
        self.command(arguments).answer()
    }

    pub(crate) fn save_arguments<'a>(stage: &'a str, artifacts: &[&'a str]) -> Vec<&'a str> {
        let mut arguments = vec!["save", "--title=churn", "--run=run-001", "--json", "--stage", stage];
        arguments.extend(artifacts);
        arguments
    }

    pub(crate) fn try_save(&self, stage: &str, artifacts: &[&str]) -> Answer {
        self.run(&Self::save_arguments(stage, artifacts))
    }

    pub(crate) fn save(&self, stage: &str, artifacts: &[&str]) -> Value {
        let output = self.try_save(stage, artifacts);
        assert!(output.succeeded(), "{output}");
        valid(&output.stdout, "checkpoint-save.schema.json")
    }

    /// As `save`, in this process.
    #[cfg_attr(
        not(target_os = "linux"),
        allow(dead_code, reason = "the tests that trace system calls need it")
    )]
    pub(crate) fn save_here(&self, stage: &str, artifacts: &[&str]) {
        let mut request = SaveRequest::new(stage, now().try_into().unwrap());
        request.artifacts = artifacts.iter().map(PathBuf::from).collect();
        save(&self.layout(), &request).unwrap();
    }

    pub(crate) fn json(&self, arguments: &[&str], schema: &str) -> Value {
        let output = self.run(&[arguments, &["--json"]].concat());
        assert_eq!(output.stderr, "", "{arguments:?}");
        valid(&output.stdout, schema)
    }

    pub(crate) fn ids(&self) -> BTreeSet<String> {
        let listing = list(&self.root, Some("churn"), Some("run-001")).unwrap();
        listing.checkpoints.into_iter().map(|found| found.checkpoint_id).collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.ids().len()
    }

    /// Nothing half-written is taken for a checkpoint, every checkpoint that is there can be used, and the newest is found.
    pub(crate) fn assert_sound(&self) {
        let layout = self.layout();
        let listing = list(&self.root, Some("churn"), Some("run-001")).unwrap();
        assert!(listing.unreadable.is_empty(), "{:?}", listing.unreadable);
        for found in &listing.checkpoints {
            let validated = validate(&layout, &found.checkpoint_id, Depth::Full).unwrap();
            assert!(validated.is_usable(), "{}: {:?}", found.checkpoint_id, validated.issues);
        }
        let found = last_valid(&self.root, "churn", Some("run-001"), Depth::Full).unwrap();
        assert_eq!(
            found.checkpoint.map(|found| found.id),
            listing.checkpoints.first().map(|found| found.checkpoint_id.clone())
        );
        assert!(found.skipped.is_empty());
    }

    pub(crate) fn is_on_a_known_file_system(&self) -> bool {
        let kind = rustix::fs::statfs(&self.root).unwrap().f_type as u64 & 0xffff_ffff;
        [0xef53, 0x5846_5342, 0x9123_683e].contains(&kind)
    }

    /// The flushes of one save.
    pub(crate) fn flushes(&self, strace: &str, artifacts: &[&str]) -> usize {
        let log = self.path(".git/strace");
        let calls = "trace=fsync,fdatasync,sync,syncfs,sync_file_range,msync";
        let output = traced(
            strace,
            &["-o", log.to_str().unwrap(), "-e", calls],
            &self.command(&Self::save_arguments("S01_load_data", artifacts)),
        );
        assert!(output.succeeded(), "{output}");
        let log = fs::read_to_string(log).unwrap();
        log.lines().filter(|line| line.contains("sync") && !line.contains("resumed")).count()
    }
}

/// Runs a command under strace.
pub(crate) fn traced(strace: &str, options: &[&str], plain: &Command) -> Answer {
    Command::new(strace)
        .args(["-f", "-qq"])
        .args(options)
        .arg(plain.get_program())
        .args(plain.get_args())
        .env_clear()
        .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .current_dir(plain.get_current_dir().unwrap())
        .stdin(Stdio::null())
        .answer()
}

pub(crate) fn strace() -> Option<&'static str> {
    let found = ["/usr/bin/strace", "/bin/strace"].into_iter().find(|path| Path::new(path).exists());
    if found.is_none() {
        println!("no strace here: left out");
    }
    found
}

/// Whether a program is there and ends well.
pub(crate) fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let output = Command::new(program).args(arguments).env("PATH", path).output();
    output.is_ok_and(|output| {
        let answer = Answer::from(output);
        if !answer.succeeded() {
            println!("{program} {arguments:?}: {}", answer.stderr);
        }
        answer.succeeded()
    })
}

/// A mount that is taken away in the end, however the test ends.
pub(crate) struct Mounted(pub(crate) PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let place = self.0.to_str().unwrap();
        // It may be busy for a moment; a lazy one would go on behind our back.
        wait_for("the mount to be free", || succeeds("umount", &[place]));
    }
}
