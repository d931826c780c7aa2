//! The clients' side of the hook: what each of them sends, and what each of them accepts.
//!
//! [`Payload`] is what a client says at an event, in the same words for every client; [`Answer`] is what it
//! is told, rendered in that client's own schema; [`Registration`] is what makes it call, and
//! [`registration::settings`] puts that into its settings and takes it out again. What was learnt from the real clients stands beside the code
//! that relies on it, with the versions it was seen in. What differs from host to host is in its [`Host`].
//!
//! [`Tmux`] types a message into the pane of a client that has no hook; [`Notification`] is what a client tells a program at
//! the end of a turn; [`transcripts`] finds the clients' transcripts.
//!
//! Nothing here decides anything. A payload that is not understood is an error on which the caller passes.

mod answer;
mod caller;
mod field;
mod foreground;
mod hold_form;
mod host;
mod host_defaults;
mod known_hook;
mod notification;
mod payload;
mod prompt;
pub mod registration;
pub mod rehearsed_turn;
mod tmux;
pub mod transcripts;

pub use answer::{Answer, AnswerForm, HoldTexts, Output, shows_text_beside_hold};
pub use caller::CallerMarks;
pub use foreground::Foreground;
pub use hold_form::HoldForm;
pub use host::{
    Abilities, CallForm, HookShell, Host, HostFiles, HostPackage, McpFile, McpForm, McpText,
    RegistrationFile, UserFolders, agent_that, host, program_name,
};
pub use known_hook::{KnownHook, TrustAnswer, TrustQuestion, TrustUnknown};
pub use notification::{Notification, NotifyForm};
pub use payload::{Event, EventKind, Payload, PayloadError, Subagent};
pub use registration::{Entry, Group, Handler, OwnCall, Program, Registration, events};
pub use tmux::{Pane, PaneAddress, Receiver, Refusal, Tmux, TmuxError, shows, socket_of_variable};
