//! The switch of a session. It is a file of its own and not a row of the journal, because a session that is
//! switched off must cost one look at the file system and nothing else.

use std::io;
use std::path::{Path, PathBuf};

use files::{FileError, regular_file};

const DIRECTORY: &str = "off";

/// Longer names are no file names everywhere; no client has such ids.
const LONGEST_NAME: usize = 200;

#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    #[error("`{client_id}` is too long for the id of a session")]
    TooLong { client_id: String },
    #[error(transparent)]
    File(#[from] FileError),
}

/// Whether the session is switched off. Where that cannot be found out, it is not.
pub fn is_off(state_directory: &Path, agent: &str, client_id: &str) -> bool {
    marker(state_directory, agent, client_id).is_some_and(|marker| marker.symlink_metadata().is_ok())
}

pub fn turn_off(state_directory: &Path, agent: &str, client_id: &str) -> Result<(), SwitchError> {
    let marker = marker(state_directory, agent, client_id)
        .ok_or_else(|| SwitchError::TooLong { client_id: client_id.to_owned() })?;
    crate::state_directory::create(&state_directory.join(DIRECTORY))?;
    regular_file::append(&marker, 0o666)?;
    Ok(())
}

pub fn turn_on(state_directory: &Path, agent: &str, client_id: &str) -> Result<(), SwitchError> {
    let Some(marker) = marker(state_directory, agent, client_id) else { return Ok(()) };
    match fs_err::remove_file(&marker) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(FileError::failed("remove", &marker)(error).into())
        }
        _ => Ok(()),
    }
}

/// Ids come from outside: only letters, digits and hyphens go into the name as they are.
fn marker(state_directory: &Path, agent: &str, client_id: &str) -> Option<PathBuf> {
    let mut name = String::new();
    for byte in agent.bytes().chain([b'.']).chain(client_id.bytes()) {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' => name.push(char::from(byte)),
            _ => name.push_str(&format!("_{}", text::hexadecimal(&[byte]))),
        }
    }
    (name.len() <= LONGEST_NAME).then(|| state_directory.join(DIRECTORY).join(name))
}
