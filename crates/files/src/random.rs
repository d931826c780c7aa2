//! Names that nobody else has, and keys that nobody can guess.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io;

/// Twelve hexadecimal digits that nothing else is named by.
pub fn random_id() -> String {
    let bits = RandomState::new().build_hasher().finish();
    format!("{:012x}", bits & 0xffff_ffff_ffff)
}

/// 256 bits of the system's own randomness, as 64 hexadecimal digits.
pub fn random_key() -> io::Result<String> {
    let mut bytes = [0; 32];
    machine::fill_with_random(&mut bytes)?;
    Ok(text::hexadecimal(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_the_same() {
        let ids: std::collections::HashSet<String> = (0..1000).map(|_| random_id()).collect();
        assert_eq!((ids.len(), ids.iter().all(|id| id.len() == 12)), (1000, true));
        let keys = [random_key().unwrap(), random_key().unwrap()];
        assert_eq!((keys[0] == keys[1], keys.map(|key| key.len())), (false, [64, 64]));
    }
}
