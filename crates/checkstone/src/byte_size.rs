//! A number of bytes as it is given on the command line.

use crate::error::CommandError;

/// A number of bytes: `1000`, `512K`, `64M`, `1G` (powers of 1,024).
pub(crate) fn byte_size(text: &str) -> Result<u64, CommandError> {
    let wrong = || CommandError::usage("expected a size such as `512K`, `64M` or `1G`");
    text::parse_size(text).ok_or_else(wrong)
}
