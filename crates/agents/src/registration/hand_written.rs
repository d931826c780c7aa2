//! Hooks that a person may have written by hand into another file than `init` writes. It is only read.

use super::settings::OwnEntry;

/// Another file of a client that can hold hooks.
#[derive(Debug)]
pub struct HandWrittenHooks {
    pub file: &'static str,
    /// Fails where the client does not start on the text.
    pub read: fn(&str) -> Result<HandWritten, toml::de::Error>,
    /// The key in it that switches all hooks off.
    pub switch: &'static str,
}

/// What matters to us in such a file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HandWritten {
    pub found: Vec<OwnEntry>,
    /// It has hooks of any kind.
    pub has_hooks: bool,
    pub is_switched_off: bool,
}
