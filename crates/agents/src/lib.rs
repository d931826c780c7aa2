//! The clients' side of the hook: what each of them sends, and what each of them accepts.
//!
//! [`Payload`] is what a client says at an event, in the same words for every client; [`Answer`] is what it
//! is told, rendered in that client's own schema; [`Registration`] is what makes it call, and
//! [`registration::settings`] puts that into its settings and takes it out again. What was learnt from the real clients stands beside the code
//! that relies on it, with the versions it was seen in: Claude Code 2.1.325, Gemini CLI 0.61.0, Codex CLI
//! 0.166.0.
//!
//! [`Tmux`] types a message into the pane of a client that has no hook; [`Notification`] is what Codex CLI tells its
//! `notify` program; [`transcripts`] finds the clients' transcripts.
//!
//! Nothing here decides anything. A payload that is not understood is an error on which the caller passes.

mod answer;
mod field;
mod foreground;
mod hold_form;
mod notification;
mod payload;
mod prompt;
pub mod registration;
mod tmux;
pub mod transcripts;

pub use answer::{Answer, shows_text_beside_hold};
pub use foreground::Foreground;
pub use hold_form::HoldForm;
pub use notification::Notification;
pub use payload::{Event, Payload, PayloadError, Subagent};
pub use registration::{Entry, Group, Handler, OwnCall, Program, Registration, events};
pub use tmux::{Pane, PaneAddress, Receiver, Refusal, Tmux, TmuxError, shows, socket_of_variable};
