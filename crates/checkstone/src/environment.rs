//! The environment variables that are read, each named once. Nothing else reads the environment.

use std::ffi::OsString;

/// The width of the terminal, where the terminal itself does not tell.
pub(crate) const COLUMNS: &str = "COLUMNS";

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub(crate) fn read(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
