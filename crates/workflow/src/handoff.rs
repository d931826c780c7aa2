//! Hand-offs between an agent and its sub-agents: the request that is given and the response that comes back, as
//! documents of the hand-off protocol, and the check that keeps their summaries short.

mod check;
mod facts;
mod find;
mod request;
mod response;
mod truncate;
mod word;

pub use check::{CheckedSummary, Document, Kind, Limits, Oversized, Problem, Report, check};
pub use facts::{ChangedFile, CommandRun, Facts};
pub use find::{FindError, FoundDocument, find};
pub use request::{Context, Request};
pub use response::Response;
pub use truncate::{CUT, truncate};
pub use word::{CommandOutcome, Decision, ExpectedOutput, Mode, Phase, Status};
