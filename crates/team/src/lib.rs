//! What this machine tells its team: facts from the journal go to a PostgreSQL database, each once, sent by a process of its own that no
//! hook waits for.
//!
//! [`collect`] turns what the journal has into events and puts them into the [`Outbox`], a file beside the journal; [`Sender`] empties
//! it. What was collected survives the pruning of the journal and days without a network. An event is known by machine, session and
//! sequence, which follow from the record itself, so it can be sent again by whoever does not know whether it arrived.
//!
//! Only facts travel unless the user says otherwise: paths, branches and the repository are hashes ([`TeamHashes`]), and texts that do travel
//! go through the filter for secrets ([`SentTexts`](sent_texts::SentTexts)).

mod collection;
mod machine_id;
mod outbox;
mod repository_id;
mod resident_sender;
mod sender;
mod sent_texts;
mod team_hashes;
mod team_settings;

pub use collection::{CollectError, Collector, collect, waiting};
pub use machine_id::machine_id;
pub use outbox::{LastTry, Outbox, OutboxError};
pub use repository_id::{RepositoryIds, normalised};
pub use resident_sender::{ResidentSender, is_resident};
pub use sender::{DatabaseAnswer, SendError, Sender, ask_database};
pub use team_hashes::TeamHashes;
pub use team_settings::{TeamSettings, TeamSettingsError, reference};
