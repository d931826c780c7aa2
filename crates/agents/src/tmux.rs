//! Delivery into a tmux pane: the text as literal keys, a pause, then Enter as a key of its own.
//!
//! Seen with Codex CLI 0.166.0 in tmux 3.3a: literal keys arrive whole, and a line feed makes a new line in the
//! prompt without submitting it. An Enter without a pause before it is taken for a line of a pasted text and submits
//! nothing; after 50 ms it submits. Claude Code 2.1.325 and Gemini CLI 0.61.0 take the same keys as well.
//!
//! What is typed into a pane is executed if a shell reads it. So who reads is looked at before the text and again
//! before Enter, and tmux is called without a shell.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use files::{BoundedChild, Bounds, ChildError, Leftovers};
use transcript::Agent;

use crate::foreground::{self, Foreground};

/// A tmux server answers in milliseconds, or hangs.
const TIME_LIMIT: Duration = Duration::from_secs(3);

/// Between the text and Enter. Clients take keys that come close together for a paste.
const PAUSE: Duration = Duration::from_millis(400);

/// tmux takes no command of more than 16 KiB.
const LONGEST_PIECE: usize = 4 * 1024;

/// What is asked about a pane; the name of the program last, since it may contain anything.
const FORMAT: &str = "#{pane_id}|#{pane_pid}|#{pane_tty}|#{pane_dead}|#{pane_in_mode}|#{pane_input_off}|\
                      #{pane_synchronized}|#{pane_current_command}";

#[derive(Debug, thiserror::Error)]
pub enum TmuxError {
    #[error("tmux is not installed: there is no program `{}`", program.display())]
    NoTmux { program: PathBuf },
    #[error("`{command}` could not be run")]
    Run {
        command: String,
        #[source]
        source: io::Error,
    },
    #[error("`{command}` took longer than {} s", TIME_LIMIT.as_secs())]
    TimedOut { command: String },
    #[error("no tmux server is running ({reason})")]
    NoServer { reason: String },
    #[error("tmux has no pane `{target}`")]
    NoPane { target: String },
    #[error("`{command}` failed: {reason}")]
    Failed { command: String, reason: String },
    #[error("the pane {pane} changed its program before Enter, so the text was typed and not submitted")]
    NotSubmitted { pane: String },
    #[error("the pane {pane} {why}")]
    Refused { pane: String, why: Refusal },
}

/// Why nothing is typed into a pane.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("is dead")]
    Dead,
    #[error("is in copy mode, where keys do not reach its program")]
    CopyMode,
    #[error("takes no input (it was switched off with `select-pane -d`)")]
    InputOff,
    #[error("is synchronised with others, which would get the text too")]
    Synchronized,
    #[error("shows the prompt of a shell (`{0}`), which would execute the text")]
    Shell(String),
    #[error("runs `{0}`, which is not a known agent")]
    NoAgent(String),
    #[error("runs {1}, not {0}")]
    OtherAgent(&'static str, &'static str),
    #[error("runs `{0}`, which does not read keys, so the shell would get the text afterwards")]
    NotInteractive(String),
    #[error("cannot be inspected: its terminal `{0}` cannot be opened")]
    Unseen(PathBuf),
}

/// Who may be typed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Receiver {
    /// A client that is known.
    AnyAgent,
    /// This client.
    Agent(Agent),
    /// Whatever reads keys, such as a client behind `ssh`; never a shell.
    AnyProgram,
}

/// A pane, as it was when it was asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pane {
    /// tmux's own id, such as `%3`.
    pub id: String,
    /// Who reads its keys.
    pub foreground: Foreground,
    terminal: PathBuf,
    /// The program in front, as tmux names it.
    command: String,
    dead: bool,
    in_mode: bool,
    input_off: bool,
    synchronized: bool,
}

impl Pane {
    fn parse(line: &str) -> Option<Self> {
        let mut fields = line.splitn(8, '|');
        let mut next = || fields.next();
        let id = next().filter(|id| id.starts_with('%'))?.to_owned();
        let process = next()?.parse().unwrap_or(0);
        let terminal = PathBuf::from(next()?);
        let mut flag = || Some(!matches!(next()?, "" | "0"));
        let (dead, in_mode, input_off, synchronized) = (flag()?, flag()?, flag()?, flag()?);
        let command = next()?.to_owned();
        let foreground = Foreground::of_terminal_of(process);
        Some(Self { id, foreground, terminal, command, dead, in_mode, input_off, synchronized })
    }

    /// The client that runs here.
    pub fn agent(&self) -> Option<Agent> {
        self.foreground.agent().or_else(|| foreground::agent_of(std::slice::from_ref(&self.command)))
    }

    /// Whether text may be typed here.
    pub fn accepts(&self, receiver: Receiver) -> Result<(), TmuxError> {
        match self.refusal(receiver) {
            Some(why) => Err(TmuxError::Refused { pane: self.id.clone(), why }),
            None => Ok(()),
        }
    }

    fn refusal(&self, receiver: Receiver) -> Option<Refusal> {
        let flags = [
            (self.dead, Refusal::Dead),
            (self.in_mode, Refusal::CopyMode),
            (self.input_off, Refusal::InputOff),
            (self.synchronized, Refusal::Synchronized),
        ];
        if let Some((_, why)) = flags.into_iter().find(|(is_set, _)| *is_set) {
            return Some(why);
        }
        let name = || self.foreground.name().unwrap_or(&self.command).to_owned();
        // Where the system does not tell, tmux's own word for the program has to do.
        let untold = self.foreground.name().is_none();
        if let Some(shell) = self.foreground.shell() {
            return Some(Refusal::Shell(shell.to_owned()));
        }
        if untold && foreground::is_shell(&self.command) {
            return Some(Refusal::Shell(self.command.clone()));
        }
        match (receiver, self.agent()) {
            (Receiver::AnyAgent | Receiver::Agent(_), None) => return Some(Refusal::NoAgent(name())),
            (Receiver::Agent(wanted), Some(agent)) if wanted != agent => {
                return Some(Refusal::OtherAgent(wanted.name(), agent.name()));
            }
            _ => {}
        }
        match foreground::hands_over_keys(&self.terminal) {
            Ok(true) => None,
            Ok(false) => Some(Refusal::NotInteractive(name())),
            Err(_) => Some(Refusal::Unseen(self.terminal.clone())),
        }
    }
}

/// A tmux server.
#[derive(Clone, Debug)]
pub struct Tmux {
    program: PathBuf,
    /// The server's socket; the user's default server where it is not given.
    socket: Option<PathBuf>,
}

impl Tmux {
    pub fn new(program: PathBuf, socket: Option<PathBuf>) -> Self {
        Self { program, socket }
    }

    /// The pane that a target names, in tmux's own words: `session:window.pane`, `%3`, …
    pub fn pane(&self, target: &str) -> Result<Pane, TmuxError> {
        let no_pane = || TmuxError::NoPane { target: target.to_owned() };
        // Nothing would mean the pane that was used last.
        if target.trim().is_empty() {
            return Err(no_pane());
        }
        // Asked about a window that does not exist, `display-message` tells of another one; this command does not.
        let strict = self.run(&["capture-pane", "-p", "-S", "0", "-E", "0", "-t", target]);
        strict.map_err(|error| match error {
            TmuxError::Failed { reason, .. } if reason.starts_with("can't find") => no_pane(),
            error => error,
        })?;
        let output = self.run(&["display-message", "-p", "-t", target, FORMAT])?;
        output.lines().next().and_then(Pane::parse).ok_or_else(no_pane)
    }

    /// All panes of the server.
    pub fn panes(&self) -> Result<Vec<Pane>, TmuxError> {
        let output = self.run(&["list-panes", "-a", "-F", FORMAT])?;
        Ok(output.lines().filter_map(Pane::parse).collect())
    }

    /// The path of the server's socket, as the server itself calls it.
    pub fn socket(&self) -> Result<PathBuf, TmuxError> {
        let told = self.run(&["display-message", "-p", "#{socket_path}"])?;
        Ok(PathBuf::from(told.trim_end_matches('\n')))
    }

    /// What the pane shows, each line as long as its program wrote it.
    pub fn screen(&self, pane: &Pane) -> Result<String, TmuxError> {
        self.run(&["capture-pane", "-p", "-J", "-t", &pane.id])
    }

    /// Types `text` into the pane and submits it.
    pub fn deliver(&self, pane: &Pane, receiver: Receiver, text: &str) -> Result<(), TmuxError> {
        pane.accepts(receiver)?;
        for piece in pieces(&typable(text)) {
            self.run(&["send-keys", "-t", &pane.id, "-l", "--", &argument(piece)])?;
        }
        std::thread::sleep(PAUSE);
        let now = self.pane(&pane.id)?;
        if now.accepts(receiver).is_err() || !now.foreground.is_same_as(&pane.foreground) {
            return Err(TmuxError::NotSubmitted { pane: pane.id.clone() });
        }
        self.run(&["send-keys", "-t", &pane.id, "Enter"]).map(drop)
    }

    fn run(&self, arguments: &[&str]) -> Result<String, TmuxError> {
        let mut command = Command::new(&self.program);
        // In any locale, tmux would otherwise write `_` for what is not ASCII.
        command.arg("-u");
        if let Some(socket) = &self.socket {
            command.arg("-S").arg(socket);
        }
        command
            .args(arguments)
            // A pane that is not named must not mean the pane that we run in.
            .env_remove("TMUX")
            .env_remove("TMUX_PANE")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let name = format!("tmux {}", arguments.first().copied().unwrap_or_default());
        // A server that was started by it stays.
        let bounds = Bounds { leftovers: Leftovers::Leave, ..Bounds::within(TIME_LIMIT) };
        let child = BoundedChild::start(&mut command, bounds).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => TmuxError::NoTmux { program: self.program.clone() },
            _ => TmuxError::Run { command: name.clone(), source },
        })?;
        let ended = child.finish().map_err(|error| match error {
            ChildError::TimedOut { .. } => TmuxError::TimedOut { command: name.clone() },
            error => TmuxError::Run { command: name.clone(), source: io::Error::other(error) },
        })?;
        if ended.status.success() {
            return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
        }
        let complaint = String::from_utf8_lossy(&ended.stderr);
        let reason = complaint.lines().next().unwrap_or("it gave no reason").to_owned();
        let no_server = ["no server running", "error connecting", "server exited", "lost server"];
        if no_server.iter().any(|words| reason.contains(words)) {
            return Err(TmuxError::NoServer { reason });
        }
        Err(TmuxError::Failed { command: name, reason })
    }
}

/// What a keyboard could have typed: line feeds stay, since clients make a new line of them; any other control
/// character could be a key with a meaning of its own, and a tab would complete something.
fn typable(text: &str) -> String {
    text.replace("\r\n", "\n")
        .trim()
        .chars()
        .filter_map(|character| match character {
            '\n' => Some('\n'),
            '\t' => Some(' '),
            character if character.is_control() => None,
            character => Some(character),
        })
        .collect()
}

/// Cut between characters.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let piece = text::head(rest, LONGEST_PIECE);
        pieces.push(piece);
        rest = rest.get(piece.len()..).unwrap_or_default();
    }
    pieces
}

/// tmux takes an argument that ends in `;` for the end of a command, unless a backslash stands before it.
fn argument(text: &str) -> String {
    match text.strip_suffix(';') {
        Some(before) => format!("{before}\\;"),
        None => text.to_owned(),
    }
}

/// A pane and its server, as a session remembers them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PaneAddress {
    pub pane: String,
    pub socket: PathBuf,
}

impl PaneAddress {
    /// `%3 /tmp/tmux-1000/default`.
    pub fn parse(text: &str) -> Option<Self> {
        let (pane, socket) = text.split_once(' ')?;
        let number = pane.strip_prefix('%')?;
        let sound = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        (sound && socket.starts_with('/'))
            .then(|| Self { pane: pane.to_owned(), socket: PathBuf::from(socket) })
    }
}

impl std::fmt::Display for PaneAddress {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.pane, self.socket.display())
    }
}

/// The socket in tmux's own variable `TMUX`: `socket,process,session`.
pub fn socket_of_variable(value: &OsStr) -> Option<PathBuf> {
    use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
    let mut parts = value.as_bytes().rsplitn(3, |byte| *byte == b',');
    let socket = parts.nth(2)?;
    let path = PathBuf::from(OsString::from_vec(socket.to_vec()));
    path.is_absolute().then_some(path)
}

/// Whether a screen shows these words, whatever the client made of spaces, marks and line breaks. Nothing where
/// there are no words to look for.
pub fn shows(screen: &str, words: &str) -> bool {
    /// So many letters and digits from the end tell one text from another.
    const ENOUGH: usize = 60;
    let letters =
        |text: &str| text.chars().filter(|character| character.is_alphanumeric()).collect::<Vec<char>>();
    let words = letters(words);
    let tail = words.get(words.len().saturating_sub(ENOUGH)..).unwrap_or_default();
    let tail: String = tail.iter().collect();
    !tail.is_empty() && letters(screen).iter().collect::<String>().contains(&tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_keyboard_types_is_left() {
        assert_eq!(typable("a\u{1b}[31m\u{3}b\r\n\tc\u{7f}\u{9b}\n"), "a[31mb\n c");
        assert_eq!(typable("ü 日本 🎉"), "ü 日本 🎉");
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let text = "ü".repeat(10_000);
        let cut = pieces(&text);
        assert!(cut.len() > 1 && cut.iter().all(|piece| piece.len() <= LONGEST_PIECE));
        assert_eq!(cut.concat(), text);
        assert!(pieces("").is_empty());
    }

    #[test]
    fn the_variable_of_tmux_names_its_socket() {
        let socket = |value: &str| socket_of_variable(OsStr::new(value));
        assert_eq!(socket("/tmp/tmux-0/default,3618,0"), Some(PathBuf::from("/tmp/tmux-0/default")));
        assert_eq!(socket("/tmp/a,b,3618,0"), Some(PathBuf::from("/tmp/a,b")));
        assert_eq!(socket("default,1,0"), None);
        assert_eq!(socket("nonsense"), None);
    }

    #[test]
    fn an_address_comes_back_as_it_was_kept() {
        let address = PaneAddress { pane: "%12".to_owned(), socket: PathBuf::from("/tmp/my tmux/x") };
        assert_eq!(PaneAddress::parse(&address.to_string()), Some(address));
        for text in ["", "%1", "main /tmp/x", "% /tmp/x", "%1 relative", "%1x /tmp/x"] {
            assert_eq!(PaneAddress::parse(text), None, "{text}");
        }
    }

    #[test]
    fn words_are_found_on_a_screen_that_wraps_and_marks_them() {
        let screen = "• All done: **add()** is\n  fixed.\n\n› Ask Codex";
        assert!(shows(screen, "All done: `add()` is fixed."));
        assert!(!shows(screen, "Nothing was done."));
        assert!(!shows(screen, ""));
        assert!(!shows(screen, "…"));
    }
}
