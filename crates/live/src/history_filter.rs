//! What the history is narrowed to, as its address says.

use std::path::PathBuf;

#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(crate) struct HistoryFilter {
    pub(crate) agent: Option<String>,
    pub(crate) repository: Option<PathBuf>,
    pub(crate) words: Option<String>,
}
