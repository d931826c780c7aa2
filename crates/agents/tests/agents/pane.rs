//! A private tmux server with one program in its pane: this test binary again, under a name of choice, in which it
//! puts the terminal into raw mode as a TUI does and writes down every read of its keyboard.

use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use agents::{Pane, Tmux};
use sandbox::{Sandbox, wait_for, wait_for_file};

/// Where the recorder writes.
const FOLDER: &str = "RECORDER_FOLDER";

/// `raw` as a TUI, `lines` as a program that is not interactive.
const MODE: &str = "RECORDER_MODE";

pub(crate) struct Server {
    sandbox: Sandbox,
}

impl Server {
    /// A server whose first pane runs the recorder under this name.
    pub(crate) fn with_recorder(name: &str) -> Self {
        Self::with_recorder_in_mode(name, "raw")
    }

    pub(crate) fn with_recorder_in_mode(name: &str, mode: &str) -> Self {
        let server = Self { sandbox: Sandbox::new() };
        let program = server.path(name);
        symlink(std::env::current_exe().unwrap(), &program).unwrap();
        let (folder, mode) = (format!("{FOLDER}={}", server.path("").display()), format!("{MODE}={mode}"));
        let recorder = ["--exact", "pane::recorder", "--ignored", "--nocapture"];
        let started = [OsStr::new("env"), OsStr::new(&folder), OsStr::new(&mode), program.as_os_str()];
        server.start(&[&started[..], &recorder.map(OsStr::new)].concat());
        wait_for_file(&server.path("ready"));
        server
    }

    /// A server whose first pane runs this.
    pub(crate) fn with(program: &[&str]) -> Self {
        let server = Self { sandbox: Sandbox::new() };
        server.start(&program.iter().map(OsStr::new).collect::<Vec<_>>());
        server
    }

    fn start(&self, program: &[&OsStr]) {
        let mut command = self.command(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-s",
            "one",
            "-x",
            "100",
            "-y",
            "30",
            "--",
        ]);
        assert!(command.args(program).status().unwrap().success());
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.socket()).args(arguments).env_remove("TMUX").env("TERM", "xterm-256color");
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    /// A tmux command that must succeed.
    #[track_caller]
    pub(crate) fn run(&self, arguments: &[&str]) {
        assert!(self.command(arguments).status().unwrap().success(), "tmux {arguments:?}");
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.sandbox.path(name)
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.path("socket")
    }

    pub(crate) fn tmux(&self) -> Tmux {
        Tmux::new(PathBuf::from("tmux"), Some(self.socket()))
    }

    pub(crate) fn pane(&self) -> Pane {
        self.tmux().pane("one").unwrap()
    }

    /// What the recorder read at once, read by read, as soon as it has read `wanted` at the end.
    #[track_caller]
    pub(crate) fn reads_until(&self, wanted: &[u8]) -> Vec<Vec<u8>> {
        let reads = || -> Vec<Vec<u8>> {
            let text = fs_err::read_to_string(self.path("reads")).unwrap_or_default();
            text.lines().map(|line| serde_json::from_str(line).unwrap_or_default()).collect()
        };
        wait_for("the keys", || reads().concat().ends_with(wanted));
        reads()
    }

    pub(crate) fn has_read_nothing(&self) -> bool {
        !self.path("reads").exists()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).stderr(Stdio::null()).status();
    }
}

/// Where it is not, the test command says so, and in CI it fails.
pub(crate) fn tmux_is_there() -> bool {
    Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_ok()
}

/// Not a test: what runs in the pane.
#[test]
#[ignore = "the other tests start it in a pane"]
fn recorder() {
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
    use std::io::Write as _;
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let stdin = std::io::stdin();
    if std::env::var_os(MODE).is_some_and(|mode| mode == "raw") {
        let mut modes = tcgetattr(&stdin).unwrap();
        modes.make_raw();
        tcsetattr(&stdin, OptionalActions::Now, &modes).unwrap();
    }
    fs_err::write(folder.join("ready"), "").unwrap();
    let mut reads =
        std::fs::OpenOptions::new().append(true).create(true).open(folder.join("unfinished")).unwrap();
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = rustix::io::read(&stdin, &mut buffer) {
        let line = serde_json::to_string(&buffer[..length]).unwrap();
        writeln!(reads, "{line}").unwrap();
        // Whole lines only become visible.
        fs_err::copy(folder.join("unfinished"), folder.join("copy")).unwrap();
        fs_err::rename(folder.join("copy"), folder.join("reads")).unwrap();
    }
}
