//! The tmux server and pane that a command is about.

use std::path::PathBuf;

use agents::{Pane, Refusal, Tmux, TmuxError};

use crate::environment;
use crate::error::{CommandError, ErrorKind};

/// The server with this socket, or the one that the command runs in, or the user's default one.
pub(crate) fn server(socket: Option<PathBuf>) -> Result<Tmux, CommandError> {
    let program = environment::program("tmux").ok_or_else(|| {
        CommandError::environment("tmux is not installed")
            .hint("install tmux, or register the client's hooks instead")
    })?;
    let own = || environment::read(environment::TMUX).and_then(|value| agents::socket_of_variable(&value));
    Ok(Tmux::new(program, socket.or_else(own)))
}

pub(crate) fn pane(tmux: &Tmux, target: &str) -> Result<Pane, CommandError> {
    Ok(tmux.pane(target)?)
}

impl From<TmuxError> for CommandError {
    fn from(error: TmuxError) -> Self {
        use ErrorKind::{Environment, Failed, NotFound, Refused};
        let (kind, hint) = match &error {
            TmuxError::NoTmux { .. } => (Environment, ""),
            TmuxError::NoServer { .. } => (NotFound, "name the server's socket with `--socket`"),
            TmuxError::NoPane { .. } => {
                (NotFound, "`tmux list-panes -a` lists them; `%3` and `session:window.pane` are targets")
            }
            TmuxError::NotSubmitted { .. } => (Failed, "look at the pane before you press a key in it"),
            TmuxError::Refused { why, .. } => (Refused, refusal_hint(why)),
            _ => (Failed, ""),
        };
        Self::of(kind, &error).hint(hint)
    }
}

fn refusal_hint(why: &Refusal) -> &'static str {
    match why {
        Refusal::CopyMode => "leave copy mode with `q`",
        Refusal::InputOff => "switch its input on with `tmux select-pane -e`",
        Refusal::Synchronized => "run `tmux set-option -p synchronize-panes off`",
        Refusal::NoAgent(_) => "`--force` types it anyway, into anything but a shell",
        Refusal::OtherAgent(..) => "leave out `--agent`, or name the other pane",
        Refusal::Dead | Refusal::Shell(_) | Refusal::NotInteractive(_) | Refusal::Unseen(_) => {
            "name the pane that the agent runs in"
        }
    }
}
