//! What must hold for any two texts as the versions of a file.

use contents::{Nature, nature, nature_of_part};

/// Files in languages that are lexed differently.
const PATHS: &[&str] = &[
    "a.js",
    "a.rs",
    "a.py",
    "a.sh",
    "a.c",
    "a.vue",
    "a.json",
    "a.hs",
    "a.rb",
    "a.css",
    "script",
    "a.unknown",
];

/// Reads the bytes as both versions, which a zero byte parts; the first byte says which file they are of.
pub fn check(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first() else { return };
    let path = PATHS[usize::from(*first) % PATHS.len()];
    let text = String::from_utf8_lossy(rest);
    let (before, after) = text.split_once('\0').unwrap_or((&text, ""));
    assert_eq!(nature(path, Some(before), Some(before)), Nature::Nothing);
    let there = nature(path, Some(before), Some(after));
    // Of two scripts the newer one says which language both are read in.
    if path != "script" {
        assert_eq!(
            there,
            nature(path, Some(after), Some(before)),
            "the way back is as long as the way there"
        );
    }
    let _ = nature_of_part(path, before, after);
    let _ = nature(path, None, Some(after));
}
