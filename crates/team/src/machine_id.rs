//! What a machine is known by: the same after a restart, another one for another user or another state directory, and a hash, since the
//! system's own id is nobody's business.

use std::path::Path;

use crate::TeamHashes;

pub fn machine_id(hashes: &TeamHashes, state: &Path) -> String {
    let read = |file: &&str| fs_err::read_to_string(*file).unwrap_or_default().trim().to_owned();
    let own: String = machine::MACHINE_IDS.iter().map(read).collect();
    let user = rustix::process::getuid().as_raw().to_string();
    let state = state.to_string_lossy();
    // Containers made from one image have the same id, and names of their own.
    hashes.of("machine", &[&own, &machine::host_name(), &user, &state])
}
