//! VS Code: what its agent writes down is not documented, so it is not read.

use super::HostFormat;

pub(super) static FORMAT: HostFormat = HostFormat { is_read: false, ..HostFormat::BASE };
