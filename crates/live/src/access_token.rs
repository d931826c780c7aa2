//! The secret by which a person's browser is known: in the address that `serve` prints, and in a file that only this user can
//! read. It stays the same from start to start, so that a bookmark of it works.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use files::{FileError, Links, atomic_file, random_key, regular_file};

const FILE_NAME: &str = "serve.token";

/// As `random_key` makes them.
const LENGTH: usize = 64;

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("cannot make a token: {0}")]
    Random(std::io::Error),
    #[error("cannot keep the token of the page")]
    File(#[from] FileError),
    #[error("others can read `{}`: its mode is {mode:o}", path.display())]
    Readable { path: PathBuf, mode: u32 },
    #[error("`{}` belongs to another user", path.display())]
    Foreign { path: PathBuf },
}

/// Never shown by `Debug`.
#[derive(Clone)]
pub struct AccessToken(String);

impl std::fmt::Debug for AccessToken {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("AccessToken")
    }
}

impl AccessToken {
    /// The one in the state directory, made where there is none. One that somebody else can read is no secret, and refused.
    pub fn of_state_directory(state: &Path) -> Result<Self, TokenError> {
        let path = state.join(FILE_NAME);
        match regular_file::open(&path, Links::Refuse) {
            Ok(file) => {
                let metadata = file.metadata().map_err(FileError::failed("inspect", &path))?;
                if metadata.uid() != rustix::process::geteuid().as_raw() {
                    return Err(TokenError::Foreign { path });
                }
                let mode = metadata.mode() & 0o777;
                if mode & 0o077 != 0 {
                    return Err(TokenError::Readable { path, mode });
                }
                let bytes = regular_file::read(&path, Links::Refuse, LENGTH as u64 + 1)?;
                let text = String::from_utf8_lossy(&bytes).trim().to_owned();
                if text.len() == LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    return Ok(Self(text));
                }
            }
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error.into()),
        }
        let token = Self::random()?;
        atomic_file::write(&path, format!("{}\n", token.0).as_bytes(), 0o600)?;
        Ok(token)
    }

    /// One that lives as long as this process.
    pub(crate) fn random() -> Result<Self, TokenError> {
        Ok(Self(random_key().map_err(TokenError::Random)?))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Takes the same time wherever the first difference is.
    pub(crate) fn is(&self, given: &str) -> bool {
        let differences = self.0.bytes().zip(given.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
        self.0.len() == given.len() && differences == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = AccessToken::random().unwrap();
        let (whole, cut) = (token.as_str().to_owned(), token.as_str()[..63].to_owned());
        let longer = format!("{whole}0");
        assert_eq!(
            [whole.as_str(), &cut, &longer, ""].map(|given| token.is(given)),
            [true, false, false, false]
        );
    }
}
