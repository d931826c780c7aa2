//! A client's screen: a tmux server of its own, in which it runs as it does for a person.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Nothing takes a tenth of this, even on a machine that is busy.
const LIMIT: Duration = Duration::from_secs(90);
const EACH: Duration = Duration::from_millis(50);
/// A screen that has not changed for so long is left alone by its client.
const STILL: Duration = Duration::from_secs(2);
/// Keys that follow one another faster are taken for a paste.
const BETWEEN_KEYS: Duration = Duration::from_millis(500);
/// A client that shows nothing for so long is started again, so often.
const COMES_UP: Duration = Duration::from_secs(40);
const STARTS: usize = 3;

/// Claude Code would ask for focus events; the others ask which colours the terminal has, to choose theirs by it.
const SETTINGS: &str = "set -g focus-events on
set -g default-terminal tmux-256color
set -g status off
set -g window-style 'fg=#d8dce4,bg=#16181d'
";

#[derive(Debug)]
pub struct Screen {
    socket: PathBuf,
}

impl Screen {
    /// What a person sees at once.
    pub const COLUMNS: usize = 100;
    /// More than a person's, so that the whole turn is on it.
    const ROWS: usize = 64;

    /// Runs the client there. The command's environment and folder are the client's; tmux's own files go into the folder.
    pub fn start(client: &Command, folder: &Path) -> io::Result<Self> {
        fs_err::create_dir_all(folder)?;
        let settings = folder.join("tmux.conf");
        fs_err::write(&settings, SETTINGS)?;
        let screen = Self { socket: folder.join("tmux") };
        let mut command = Command::new("tmux");
        command.env_clear().envs(client.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = client.get_current_dir() {
            command.current_dir(folder);
        }
        command.arg("-u").arg("-f").arg(settings).arg("-S").arg(&screen.socket);
        let (columns, rows) = (Self::COLUMNS.to_string(), Self::ROWS.to_string());
        command.args(["new-session", "-d", "-x", &columns, "-y", &rows, "--"]);
        command.arg(client.get_program()).args(client.get_args());
        output(&mut command)?;
        Ok(screen)
    }

    /// Runs the client there until it shows these words; one that does not come up is started again.
    pub fn start_until(client: &Command, folder: &Path, words: &str) -> io::Result<Self> {
        let mut starts = 1;
        loop {
            let screen = Self::start(client, folder)?;
            match screen.wait_within(COMES_UP, || Ok(screen.text()?.contains(words))) {
                Ok(()) => return Ok(screen),
                Err(error) if starts == STARTS => return Err(error),
                Err(_) => starts += 1,
            }
        }
    }

    fn tmux(&self, arguments: &[&str]) -> io::Result<String> {
        let mut command = Command::new("tmux");
        output(command.arg("-u").arg("-S").arg(&self.socket).args(arguments).env_remove("TMUX"))
    }

    pub fn text(&self) -> io::Result<String> {
        self.tmux(&["capture-pane", "-p"])
    }

    /// With the escape sequences that gave it its colours.
    fn styled(&self) -> io::Result<String> {
        self.tmux(&["capture-pane", "-e", "-p", "-N"])
    }

    pub fn press(&self, key: &str) -> io::Result<()> {
        self.tmux(&["send-keys", key]).map(|_| ())
    }

    /// Types a prompt and sends it.
    pub fn say(&self, prompt: &str) -> io::Result<()> {
        self.tmux(&["send-keys", "-l", prompt])?;
        self.wait_for(prompt)?;
        std::thread::sleep(BETWEEN_KEYS);
        self.press("Enter")
    }

    pub fn wait_for(&self, words: &str) -> io::Result<()> {
        self.wait_until(|| Ok(self.text()?.contains(words)))
            .map_err(|error| io::Error::other(format!("`{words}` did not come: {error}")))
    }

    pub fn wait_until_gone(&self, words: &str) -> io::Result<()> {
        self.wait_until(|| Ok(!self.text()?.contains(words)))
    }

    pub fn wait_until(&self, condition: impl Fn() -> io::Result<bool>) -> io::Result<()> {
        self.wait_within(LIMIT, condition)
    }

    fn wait_within(&self, limit: Duration, condition: impl Fn() -> io::Result<bool>) -> io::Result<()> {
        let deadline = Instant::now() + limit;
        while !condition()? {
            if Instant::now() > deadline {
                return Err(io::Error::other(format!("the screen shows\n{}", self.text()?)));
            }
            std::thread::sleep(EACH);
        }
        Ok(())
    }

    /// What is on it once nothing moves any more.
    pub fn still(&self) -> io::Result<String> {
        let deadline = Instant::now() + LIMIT;
        let (mut seen, mut since) = (self.styled()?, Instant::now());
        while since.elapsed() < STILL {
            std::thread::sleep(EACH);
            let now = self.styled()?;
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
            if Instant::now() > deadline {
                return Err(io::Error::other("the screen does not come to rest"));
            }
        }
        Ok(seen)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.tmux(&["kill-server"]);
    }
}

/// What a command prints that succeeds.
fn output(command: &mut Command) -> io::Result<String> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{command:?} failed: {}", complaint.trim())))
}
