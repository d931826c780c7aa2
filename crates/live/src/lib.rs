//! The page that shows every session while it works, served on this machine to the person who has its token.
//!
//! A view is a list of parts, each a piece of markup made from what the journal, the transcripts, the ledger and the records of
//! runs say now. The same parts are a whole page for a browser without scripts, and what is sent to an open page when
//! something changed.
//!
//! Everything that comes from a transcript, a repository or a record is text: markup is only made by `maud`, which escapes
//! whatever is put in. Nothing is loaded from elsewhere, and no path of a request leads to a file.

mod access_token;
mod activity;
mod desk;
mod door;
mod file_watch;
mod history_filter;
mod history_page;
mod live_stream;
#[cfg(not(feature = "postgres"))]
mod no_team;
mod overview;
mod overview_page;
mod page;
mod runs_page;
mod seen_transcript;
mod server;
mod session_page;
mod session_story;
mod settings;
mod sources;
#[cfg(feature = "postgres")]
mod team_page;
#[cfg(feature = "postgres")]
mod team_watch;
mod turn_changes;
mod view;
mod waiting_sessions;
mod words;
mod workflows_page;

pub use access_token::{AccessToken, TokenError};
pub use server::{ServeError, Served, Server};
pub use settings::PageSettings;
pub use waiting_sessions::{WaitingListener, WaitingSession};

#[cfg(not(feature = "postgres"))]
pub use no_team::NoTeamPlace as TeamPlace;
#[cfg(feature = "postgres")]
pub use team_watch::TeamPlace;
