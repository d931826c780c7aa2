//! A short hash by which a text is known again. It is recorded, so it is the same on every machine and in every version.

use serde::{Deserialize, Serialize};

/// Not for secrets: anyone can make two texts with the same hash on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(with = "String"))]
#[serde(into = "String", try_from = "String")]
pub struct TextHash(u64);

const SEED: u64 = 0xcbf2_9ce4_8422_2325;
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl TextHash {
    pub fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        // Four at once, for none of them has to wait for another.
        let (blocks, rest) = bytes.as_chunks::<32>();
        let mut lanes = [SEED ^ bytes.len() as u64, 1, 2, 3];
        for block in blocks {
            let (words, _) = block.as_chunks::<8>();
            for (lane, word) in lanes.iter_mut().zip(words) {
                *lane = step(*lane, u64::from_le_bytes(*word));
            }
        }
        let [first, others @ ..] = lanes;
        let mut hash = others.into_iter().fold(first, step);
        for part in rest.chunks(8) {
            let mut word = [0; 8];
            for (place, byte) in word.iter_mut().zip(part) {
                *place = *byte;
            }
            hash = step(hash, u64::from_le_bytes(word));
        }
        Self(hash)
    }
}

fn step(hash: u64, word: u64) -> u64 {
    let mixed = (hash ^ word).wrapping_mul(FACTOR);
    mixed ^ (mixed >> 29)
}

impl From<TextHash> for String {
    fn from(hash: TextHash) -> Self {
        format!("{:016x}", hash.0)
    }
}

impl TryFrom<String> for TextHash {
    type Error = std::num::ParseIntError;

    fn try_from(digits: String) -> Result<Self, Self::Error> {
        u64::from_str_radix(&digits, 16).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_equal_hashes_and_others_do_not() {
        let texts = [
            "",
            "a",
            "b",
            "\0",
            "aaaaaaaa",
            "aaaaaaaa\0",
            "aaaaaaaab",
            "baaaaaaaa",
            "one\ntwo\n",
            "two\none\n",
            "eight by eight, and four of them",
            "eight by eight, and four of them\0",
            "four of eight by eight, and them",
            "eight by eight, and four of them, and more",
        ];
        for (place, text) in texts.iter().enumerate() {
            for (other_place, other) in texts.iter().enumerate() {
                assert_eq!(
                    TextHash::of(text) == TextHash::of(other),
                    place == other_place,
                    "{text:?} {other:?}"
                );
            }
        }
    }

    /// The hash is recorded: it must not change with the version.
    #[test]
    fn a_hash_is_printed_in_digits_and_read_back() {
        let hash = TextHash::of("fn main() {}");
        let json = serde_json::to_string(&hash).unwrap();
        assert_eq!(serde_json::from_str::<TextHash>(&json).unwrap(), hash);
        assert_eq!(json.len(), 18);
    }
}
