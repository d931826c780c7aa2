//! Reads what AI coding agents write about their own work: bytes to entries to turn to timeline.
//!
//! Three layers, each in modules of its own:
//! - raw bytes: [`source`], [`window`] (lines from the end, in bounded windows), [`forward`] (lines from the beginning);
//! - one normaliser per format: [`format`], which turns a line into an [`entry::Record`];
//! - consumers: [`turn`] (where the turn begins), [`timeline`] (calls with their results), [`usage`],
//!   [`subagents`], [`render`], and [`walk`], which goes through all turns of a transcript.
//!
//! It knows nothing of git, policies or hooks, and it never fails: it returns what it understood and how
//! much that was. A turn that began before the bytes that were read is `truncated`, never a shorter turn.
//!
#![doc = include_str!("../README.md")]

mod agent;
mod command_output;
mod database;
mod detect;
mod edit_nature;
mod entry;
mod file_edit;
mod format;
mod forward;
mod json_reader;
mod json_text;
mod kept_texts;
mod model;
mod reader;
mod render;
mod session_state;
mod source;
mod subagents;
mod timeline;
mod turn;
mod unreadable;
mod usage;
mod walk;
mod walked_subagents;
mod window;
mod windows_path;

pub use agent::Agent;
pub use command_output::CommandOutput;
pub use database::{StoredSession, is_there, sessions, stored_session, written_files};
pub use edit_nature::EditNature;
pub use file_edit::FileEdit;
pub use format::{is_read, is_text_of_client, wakes_agent};
pub use model::{Call, Coverage, Extent, Kind, Message, Outcome, Reading, Turn, Usage};
pub use reader::{Options, TurnStart, read, read_bytes, writer};
pub use render::plain;
pub use session_state::SessionState;
pub use text::visible;
pub use unreadable::Unreadable;
pub use walk::{Walk, WalkedTurn, walk, walk_bytes};
pub use windows_path::unix_spelling;
