//! A client's screen: a tmux server of its own, in which it runs as it does for a person.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::process;

/// What a person sees at once.
pub(crate) const COLUMNS: usize = 100;
/// More than a person's, so that the whole turn is on it.
const ROWS: usize = 64;

/// Nothing takes a tenth of this, even on a machine that is busy.
const LIMIT: Duration = Duration::from_secs(90);
const EACH: Duration = Duration::from_millis(100);
/// A screen that has not changed for so long is left alone by its client.
const STILL: Duration = Duration::from_secs(2);
/// Keys that follow one another faster are taken for a paste.
const BETWEEN_KEYS: Duration = Duration::from_millis(500);

/// Claude Code would ask for focus events; the others ask which colours the terminal has, to choose theirs by it.
const SETTINGS: &str = "set -g focus-events on
set -g default-terminal tmux-256color
set -g status off
set -g window-style 'fg=#d8dce4,bg=#16181d'
";

pub(crate) struct Screen {
    socket: PathBuf,
}

impl Screen {
    /// Runs the client there. The command's environment and folder are the client's; tmux's own files go into the folder.
    pub(crate) fn start(client: &Command, folder: &Path) -> Result<Self, String> {
        fs_err::create_dir_all(folder).map_err(|error| error.to_string())?;
        let settings = folder.join("tmux.conf");
        fs_err::write(&settings, SETTINGS).map_err(|error| error.to_string())?;
        let screen = Self { socket: folder.join("tmux") };
        let mut command = Command::new("tmux");
        command.env_clear().envs(client.get_envs().filter_map(|(name, value)| Some((name, value?))));
        if let Some(folder) = client.get_current_dir() {
            command.current_dir(folder);
        }
        command.arg("-u").arg("-f").arg(settings).arg("-S").arg(&screen.socket);
        command.args(["new-session", "-d", "-x", &COLUMNS.to_string(), "-y", &ROWS.to_string(), "--"]);
        command.arg(client.get_program()).args(client.get_args());
        process::output(command.stdin(Stdio::null()))?;
        Ok(screen)
    }

    fn tmux(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(&self.socket).args(arguments).env_remove("TMUX");
        process::output(command.stdin(Stdio::null()))
    }

    /// With the escape sequences that gave it its colours.
    fn styled(&self) -> Result<String, String> {
        self.tmux(&["capture-pane", "-e", "-p", "-N"])
    }

    pub(crate) fn press(&self, key: &str) -> Result<(), String> {
        self.tmux(&["send-keys", key]).map(|_| ())
    }

    /// Types a prompt and sends it.
    pub(crate) fn say(&self, prompt: &str) -> Result<(), String> {
        self.tmux(&["send-keys", "-l", prompt])?;
        self.wait_for(prompt)?;
        std::thread::sleep(BETWEEN_KEYS);
        self.press("Enter")
    }

    pub(crate) fn wait_for(&self, words: &str) -> Result<(), String> {
        let told = || self.tmux(&["capture-pane", "-p"]);
        self.wait_until(|| Ok(told()?.contains(words)))
            .map_err(|error| format!("`{words}` did not come: {error}"))
    }

    pub(crate) fn wait_until_gone(&self, words: &str) -> Result<(), String> {
        self.wait_until(|| Ok(!self.tmux(&["capture-pane", "-p"])?.contains(words)))
    }

    pub(crate) fn wait_until(&self, condition: impl Fn() -> Result<bool, String>) -> Result<(), String> {
        let deadline = Instant::now() + LIMIT;
        while !condition()? {
            if Instant::now() > deadline {
                return Err(format!("the screen shows\n{}", self.tmux(&["capture-pane", "-p"])?));
            }
            std::thread::sleep(EACH);
        }
        Ok(())
    }

    /// What is on it once nothing moves any more.
    pub(crate) fn still(&self) -> Result<String, String> {
        let deadline = Instant::now() + LIMIT;
        let (mut seen, mut since) = (self.styled()?, Instant::now());
        while since.elapsed() < STILL {
            std::thread::sleep(EACH);
            let now = self.styled()?;
            if now != seen {
                (seen, since) = (now, Instant::now());
            }
            if Instant::now() > deadline {
                return Err("the screen does not come to rest".to_owned());
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
