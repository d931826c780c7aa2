//! How an engine and its nodes reach each other without a file system that both see: by the objects of a bucket. Both sides keep the
//! folder of an attempt as it is everywhere, each on its own disk, and a *relay* on each side carries the small files between them:
//! the job and requests to end there, claim, beat, progress and outcome back. What is large travels by content.
//!
//! An attempt's objects lie below its token, which is in the record before anything of it is there. What a lost node still writes
//! lies below a token that nobody asks for any more.

mod carried_files;
mod engine_relay;
mod node_relay;
mod scratch_root;

use std::fmt;
use std::fs::File;
use std::sync::Arc;

use checkpoint::{FetchedFile, RemoteContent, RemoteError};

pub use carried_files::CarryError;
pub(crate) use carried_files::{CarriedFiles, PutContents, pack};
pub(crate) use engine_relay::EngineRelay;
pub(crate) use node_relay::NodeRelay;
pub(crate) use scratch_root::{ScratchRoot, full_disk};

/// What of an attempt was made so far, and at its end.
pub(crate) const PARTIAL: &str = "partial.json";
pub(crate) const MADE: &str = "made.json";

/// Where runs can be exchanged.
pub trait Exchange: fmt::Debug + Send + Sync {
    fn of_run(&self, title: &str, run: &str) -> Result<Arc<dyn ExchangeStore>, RemoteError>;

    /// Frees, one host at a time, what lies there longer than anybody takes to use it: of all runs but those of these, by title and
    /// name, that are needed.
    fn free(&self, runs: &[[&str; 2]], is_needed: &mut dyn FnMut(usize) -> bool) -> Result<(), RemoteError>;

    /// The words by which `stage-exec` finds it on a node, besides title and run. No credential is among them.
    fn words(&self) -> Vec<String>;
}

/// An object as a list has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExchangedObject {
    pub name: String,
    /// Another one after every change.
    pub tag: String,
}

/// What engine and nodes of one run both reach: small objects by name, and contents by their digests.
pub trait ExchangeStore: fmt::Debug + Send + Sync {
    /// As people know it.
    fn name(&self) -> String;

    /// Whether an error is the answer of a service that will not answer otherwise until a person does something.
    fn is_refusal(&self, error: &RemoteError) -> bool;

    fn list(&self, under: &str) -> Result<Vec<ExchangedObject>, RemoteError>;

    /// None if there is none.
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, RemoteError>;

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), RemoteError>;

    /// False if there is one already, which may be this very one if the answer to a first try was lost.
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool, RemoteError>;

    fn remove(&self, name: &str) -> Result<(), RemoteError>;

    fn remove_all(&self, under: &str) -> Result<(), RemoteError>;

    /// Each is there and was verified by its digest when this returns.
    fn put_contents(&self, contents: Vec<RemoteContent>) -> Result<(), RemoteError>;

    /// Verified by its digest; none if it is not there.
    fn fetch_content(&self, sha256: &str, to: &File) -> Result<Option<FetchedFile>, RemoteError>;
}

/// Below which the attempts of a run have their objects.
const ATTEMPTS: &str = "attempts";

/// What an object of an attempt is called.
pub(crate) fn object_name(token: &str, name: &str) -> String {
    format!("{ATTEMPTS}/{token}/{name}")
}

/// The list of a job array.
pub(crate) fn array_name(token: &str) -> String {
    format!("arrays/{token}.json")
}
