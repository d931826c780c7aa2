//! The tmux server and pane that a command is about.

use std::path::PathBuf;

use agents::{Pane, Refusal, Tmux, TmuxError};

use crate::environment;
use crate::error::CommandError;

/// The server with this socket, or the one that the command runs in, or the user's default one.
pub(crate) fn server(socket: Option<PathBuf>) -> Result<Tmux, CommandError> {
    let program = environment::program("tmux").ok_or_else(|| {
        CommandError::new("tmux is not installed")
            .hint("install tmux, or register the client's hooks instead")
    })?;
    let own = || environment::read(environment::TMUX).and_then(|value| agents::socket_of_variable(&value));
    Ok(Tmux::new(program, socket.or_else(own)))
}

pub(crate) fn pane(tmux: &Tmux, target: &str) -> Result<Pane, CommandError> {
    tmux.pane(target).map_err(|error| explained(&error))
}

/// What failed, and what to do.
pub(crate) fn explained(error: &TmuxError) -> CommandError {
    let told = CommandError::of(error);
    match error {
        TmuxError::NoServer { .. } => told.hint("name the socket of the server with `--socket`"),
        TmuxError::NoPane { .. } => {
            told.hint("`tmux list-panes -a` lists them; `%3` and `session:window.pane` are targets")
        }
        TmuxError::NotSubmitted { .. } => told.hint("look at the pane before you press a key in it"),
        TmuxError::Refused { why, .. } => match why {
            Refusal::CopyMode => told.hint("leave copy mode with `q`"),
            Refusal::InputOff => told.hint("switch its input on with `tmux select-pane -e`"),
            Refusal::Synchronized => told.hint("`tmux set-option -p synchronize-panes off`"),
            Refusal::NoAgent(_) => told.hint("`--force` types all the same, into anything but a shell"),
            Refusal::OtherAgent(..) => told.hint("leave out `--agent`, or name the other pane"),
            Refusal::Dead | Refusal::Shell(_) | Refusal::NotInteractive(_) | Refusal::Unseen(_) => {
                told.hint("name the pane in which the agent runs")
            }
        },
        TmuxError::NoTmux { .. }
        | TmuxError::Run { .. }
        | TmuxError::TimedOut { .. }
        | TmuxError::Failed { .. } => told,
    }
}
