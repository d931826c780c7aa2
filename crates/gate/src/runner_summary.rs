//! x
/// x
pub fn read(_: &str) {}
