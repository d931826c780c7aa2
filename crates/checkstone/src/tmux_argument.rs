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
        let kind = match &error {
            TmuxError::NoTmux { .. } => ErrorKind::Environment,
            TmuxError::NoServer { .. } | TmuxError::NoPane { .. } => ErrorKind::NotFound,
            TmuxError::Refused { .. } => ErrorKind::Refused,
            _ => ErrorKind::Failed,
        };
        let told = Self::of(kind, &error);
        match error {
            TmuxError::NoServer { .. } => told.hint("name the server's socket with `--socket`"),
            TmuxError::NoPane { .. } => {
                told.hint("`tmux list-panes -a` lists them; `%3` and `session:window.pane` are targets")
            }
            TmuxError::NotSubmitted { .. } => told.hint("look at the pane before you press a key in it"),
            TmuxError::Refused { why, .. } => told.hint(match why {
                Refusal::CopyMode => "leave copy mode with `q`",
                Refusal::InputOff => "switch its input on with `tmux select-pane -e`",
                Refusal::Synchronized => "run `tmux set-option -p synchronize-panes off`",
                Refusal::NoAgent(_) => "`--force` types it anyway, into anything but a shell",
                Refusal::OtherAgent(..) => "leave out `--agent`, or name the other pane",
                Refusal::Dead | Refusal::Shell(_) | Refusal::NotInteractive(_) | Refusal::Unseen(_) => {
                    "name the pane that the agent runs in"
                }
            }),
            _ => told,
        }
    }
}
