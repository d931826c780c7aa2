//! What the user lets agents do through `checkstone mcp`: the `[mcp]` table of the user's own configuration.

use settings::{Boolean, Problems, Quoting, read_table, table};
use stop::policy_files::USER_FILE_NAME;

table! {
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct McpSettings, layer McpSettingsLayer {
        /// Whether agents get the tools that write: snapshots, workflows, checkpoints and runs.
        write: Boolean = false;
    }
}

impl McpSettings {
    /// `configuration` is the text of the user's own file, empty if there is none.
    pub(crate) fn read(configuration: &str) -> Result<Self, Problems> {
        // The rest of the file may hold tokens.
        read_table(USER_FILE_NAME, configuration, "mcp", Quoting::KeysOnly)
    }
}

/// Every key of `[mcp]`, for whoever writes them down.
#[cfg(feature = "schema")]
pub fn reference() -> settings::TableReference {
    <McpSettings as settings::TableOfKeys>::reference()
}
