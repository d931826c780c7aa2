//! Hashes that stand for what does not travel: equal things have equal ones on every machine of a team, and nothing can be read out of them.
//! Whoever knows what to try can try it, unless the team has set a key.

use sha2::{Digest, Sha256};

/// Makes them, with the key of the team.
#[derive(Clone, Debug)]
pub struct TeamHashes {
    begun: Sha256,
}

impl TeamHashes {
    pub fn new(key: &str) -> Self {
        let mut begun = Sha256::new();
        begun.update(b"checkstone team 1\0");
        begun.update(Sha256::digest(key));
        Self { begun }
    }

    /// Of parts that belong together, as 32 hexadecimal digits. What it is of is part of it: a branch called as a file is another hash.
    pub fn of(&self, kind: &str, parts: &[&str]) -> String {
        text::head(&text::hexadecimal(&self.digest(kind, parts)), 32).to_owned()
    }

    /// The same as a number.
    pub fn number(&self, kind: &str, parts: &[&str]) -> i64 {
        let digest = self.digest(kind, parts);
        digest.first_chunk().map_or(0, |eight| i64::from_be_bytes(*eight))
    }

    fn digest(&self, kind: &str, parts: &[&str]) -> Vec<u8> {
        let mut hasher = self.begun.clone();
        for part in std::iter::once(&kind).chain(parts) {
            hasher.update(part.len().to_be_bytes());
            hasher.update(part);
        }
        hasher.finalize().to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_things_have_equal_hashes_and_a_key_changes_all_of_them() {
        let (one, same, keyed) = (TeamHashes::new(""), TeamHashes::new(""), TeamHashes::new("k"));
        assert_eq!(one.of("branch", &["main"]), same.of("branch", &["main"]));
        let others =
            [one.of("file", &["main"]), one.of("branch", &["mai", "n"]), keyed.of("branch", &["main"])];
        assert!(others.iter().all(|other| *other != one.of("branch", &["main"])), "{others:?}");
        assert_eq!(one.of("branch", &["main"]).len(), 32);
    }
}
