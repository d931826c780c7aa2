//! A private tmux server whose panes run this test binary again under the name of a client: it shows what the agent
//! said last, writes down what is typed, and records it as a prompt, as the client does.

use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sandbox::RunToEnd as _;
use sandbox::{Sandbox, wait_for, wait_for_file};
use serde_json::json;

const FOLDER: &str = "RECORDER_FOLDER";
const SHOWS: &str = "RECORDER_SHOWS";
const TRANSCRIPT: &str = "RECORDER_TRANSCRIPT";

/// A tmux server with no pane yet.
pub(crate) struct Server {
    sandbox: Sandbox,
}

impl Server {
    pub(crate) fn new() -> Self {
        Self { sandbox: Sandbox::new() }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.sandbox.path("socket")
    }

    /// The value of `TMUX` in the environment of whatever runs in a pane.
    pub(crate) fn variable(&self) -> OsString {
        let mut value = self.socket().into_os_string();
        value.push(",1,0");
        value
    }

    /// A window in which a client seems to run in `folder`, with these words on its screen.
    pub(crate) fn client(&self, name: &str, folder: &Path, shows: &str, transcript: &Path) -> Window<'_> {
        let number = fs_err::read_dir(self.sandbox.root()).unwrap().count();
        let own = self.sandbox.path(format!("window-{number}"));
        fs_err::create_dir(&own).unwrap();
        symlink(std::env::current_exe().unwrap(), own.join(name)).unwrap();
        let variable = |name: &str, value: &Path| {
            let mut text = OsString::from(format!("{name}="));
            text.push(value);
            text
        };
        let mut command =
            self.command(&["new-session", "-d", "-x", "120", "-y", "40", "-s", &format!("s{number}"), "-c"]);
        command.arg(folder).args(["--", "env"]);
        command
            .arg(variable(FOLDER, &own))
            .arg(variable(TRANSCRIPT, transcript))
            .arg(variable(SHOWS, Path::new(shows)));
        command.arg(own.join(name)).args(["--exact", "hook::pane::recorder", "--ignored", "--nocapture"]);
        assert!(command.status().unwrap().success());
        let window = Window { server: self, folder: own, target: format!("=s{number}:") };
        wait_for_file(&window.folder.join("ready"));
        // Nothing but the screen says that tmux has drawn what the program wrote.
        let drawn = || window.screen().split_whitespace().collect::<String>();
        let wanted: String = shows.split_whitespace().collect();
        wait_for("the words on the screen", || drawn().contains(&wanted));
        window
    }

    /// A window with the prompt of a shell.
    pub(crate) fn shell(&self) -> String {
        assert!(self.command(&["new-session", "-d", "-s", "shell", "sh"]).status().unwrap().success());
        "=shell:".to_owned()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command.args(["-f", "/dev/null", "-S"]).arg(self.socket()).args(arguments);
        command.env_remove("TMUX").env("TERM", "xterm-256color").stdin(Stdio::null());
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.command(&["kill-server"]).stderr(Stdio::null()).status();
    }
}

pub(crate) struct Window<'a> {
    server: &'a Server,
    folder: PathBuf,
    pub(crate) target: String,
}

impl Window<'_> {
    pub(crate) fn screen(&self) -> String {
        let output = self.server.command(&["capture-pane", "-p", "-t", &self.target]).answer();
        output.stdout.clone()
    }

    /// All that was typed so far.
    pub(crate) fn typed(&self) -> String {
        fs_err::read_to_string(self.folder.join("typed")).unwrap_or_default()
    }
}

/// Where it is not, the test command says so, and in CI it fails.
pub(crate) fn tmux_is_there() -> bool {
    Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_ok()
}

/// Not a test: what runs in a pane.
#[test]
#[ignore = "the other tests start it in a pane"]
fn recorder() {
    use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let Some(folder) = variable(FOLDER) else { return };
    let stdin = std::io::stdin();
    let mut modes = tcgetattr(&stdin).unwrap();
    modes.make_raw();
    tcsetattr(&stdin, OptionalActions::Now, &modes).unwrap();
    let mut screen = std::io::stdout();
    write!(screen, "{}\r\n", variable(SHOWS).unwrap().display()).unwrap();
    screen.flush().unwrap();
    fs_err::write(folder.join("ready"), "").unwrap();
    let mut prompt = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(length @ 1..) = rustix::io::read(&stdin, &mut buffer) {
        if buffer[..length] != *b"\r" {
            prompt.extend_from_slice(&buffer[..length]);
            continue;
        }
        let text = String::from_utf8(std::mem::take(&mut prompt)).unwrap();
        let record = json!({ "timestamp": "2026-11-15T06:00:00.000Z", "type": "event_msg", "payload": {
            "type": "item_completed", "turn_id": "typed", "item":
                { "type": "UserMessage", "id": "u", "content": [{ "type": "text", "text": text }] } } });
        for (file, line) in
            [(folder.join("typed"), text), (variable(TRANSCRIPT).unwrap(), record.to_string())]
        {
            let mut file = fs_err::OpenOptions::new().append(true).create(true).open(file).unwrap();
            file.write_all(format!("{line}\n").as_bytes()).unwrap();
        }
    }
}
