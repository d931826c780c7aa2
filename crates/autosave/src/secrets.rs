//! Finds secrets in what is about to be committed or pushed, so that they never leave (A12).
//!
//! The shapes of well-known tokens are a table (`shapes`): a keyword that must occur, a pattern, and a check by
//! checksum, entropy or placeholder. One pass looks for all keywords; a pattern is compiled only when its keyword
//! occurs, and tried only around it. Random-looking text that is not known as a token (hashes, ids, images) is no
//! finding, except where a name beside it says that it is a password.
//!
//! A finding says where and what kind, never the secret: there is no field that could hold it.

mod allow;
mod checks;
mod gitleaks;
mod shapes;

use std::borrow::Cow;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use change_set::BytePath;
use keeping::{Added, AddedFile};
use regex::bytes::Regex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use shapes::{SHAPES, Shape, Where};

pub use allow::Allow;
pub use gitleaks::{GitleaksError, by_gitleaks};

/// On so many bytes before and behind a keyword its pattern is tried.
const BEFORE: usize = 256;
const BEHIND: usize = 4096;

/// Of a window that ends in the middle of a line, so much is looked at again: a secret may lie across its end.
const OVERLAP: usize = 2048;

/// Somebody looked at the line and says that it is none; the second word is gitleaks' own.
const ALLOWED: [&[u8]; 2] = [b"checkstone:allow-secret", b"gitleaks:allow"];

/// Where a secret is, and of which kind. What it is, is not kept.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    pub path: BytePath,
    /// Counted from one.
    pub line: usize,
    /// `github-token`, for example; as the allow list names it.
    pub kind: String,
    /// `kind:path:digits`, for the allow list. The digits are too few to tell the secret by trying: a 16-millionth of
    /// all guesses fits.
    pub fingerprint: String,
}

/// The kinds that are looked for, for an allow list.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    SHAPES.iter().map(|shape| shape.kind)
}

/// Looks through the new lines.
pub fn scan(added: &Added, allow: &Allow) -> Vec<Finding> {
    let mut findings: Vec<Finding> = added.files.iter().flat_map(|file| scan_file(file, allow)).collect();
    findings.sort();
    findings.dedup();
    findings
}

fn scan_file(file: &AddedFile, allow: &Allow) -> Vec<Finding> {
    if allow.has_path(&file.path) {
        return Vec::new();
    }
    let content = as_bytes_of_text(&file.content);
    let mut findings = Vec::new();
    for (kind, line, secret) in secrets_in(&content) {
        if file.lines.binary_search(&line).is_err() {
            continue;
        }
        let finding = Finding::new(&file.path, line, kind, secret);
        if !allow.has(&finding) {
            findings.push(finding);
        }
    }
    findings
}

impl Finding {
    fn new(path: &BytePath, line: usize, kind: &str, secret: &[u8]) -> Self {
        let digits = text::hexadecimal(&Sha256::digest(secret));
        let fingerprint = format!("{kind}:{path}:{}", text::head(&digits, 6));
        Self { path: path.clone(), line, kind: kind.to_owned(), fingerprint }
    }
}

/// UTF-16, which some editors write, as UTF-8; everything else as it is.
fn as_bytes_of_text(content: &[u8]) -> Cow<'_, [u8]> {
    let units = |from: fn([u8; 2]) -> u16| -> Vec<u16> {
        content.get(2..).unwrap_or_default().as_chunks::<2>().0.iter().map(|pair| from(*pair)).collect()
    };
    let text = match content {
        [0xff, 0xfe, ..] => String::from_utf16_lossy(&units(u16::from_le_bytes)),
        [0xfe, 0xff, ..] => String::from_utf16_lossy(&units(u16::from_be_bytes)),
        _ => return Cow::Borrowed(content),
    };
    Cow::Owned(text.into_bytes())
}

/// Kind, line and text of everything that looks like a secret and is not allowed by a comment.
fn secrets_in(content: &[u8]) -> Vec<(&'static str, usize, &[u8])> {
    let Some(words) = keywords() else { return Vec::new() };
    let is_binary = memchr::memchr(0, content.get(..8000).unwrap_or(content)).is_some();
    let mut found = Vec::new();
    // How far each pattern has been tried already.
    let mut tried = vec![0_usize; SHAPES.len()];
    let mut place = LineCounter::default();
    for hit in words.search.find_overlapping_iter(content) {
        for shape_index in words.shapes.get(hit.pattern().as_usize()).into_iter().flatten() {
            let (Some(shape), Some(tried)) = (SHAPES.get(*shape_index), tried.get_mut(*shape_index)) else {
                continue;
            };
            if hit.start() < *tried || (is_binary && shape.place == Where::Text) {
                continue;
            }
            let Some(pattern) = pattern(*shape_index, shape) else { continue };
            let (from, to) = window(content, hit.start(), hit.end(), shape);
            let is_cut = !matches!(content.get(to), None | Some(b'\n'));
            *tried = if is_cut { to.saturating_sub(OVERLAP).max(hit.end()) } else { to };
            let Some(text) = content.get(from..to) else { continue };
            for captures in pattern.captures_iter(text) {
                let Some(secret) = captures.get(1).or_else(|| captures.get(0)) else { continue };
                let whole = captures.get(0).map_or(b"".as_slice(), |whole| whole.as_bytes());
                if !(shape.check)(whole, secret.as_bytes()) {
                    continue;
                }
                let at = from + secret.start();
                if is_allowed_at(content, at) {
                    continue;
                }
                let Some(secret) = content.get(at..at + secret.len()) else { continue };
                found.push((shape.kind, place.line_of(content, at), secret));
            }
        }
    }
    without_repeats(found)
}

/// Where a token is known by its own shape, a name beside it that says `token` says nothing more.
fn without_repeats<'a>(found: Vec<(&'static str, usize, &'a [u8])>) -> Vec<(&'static str, usize, &'a [u8])> {
    let is_named = |kind: &str| kind.starts_with("assigned-");
    let known: Vec<usize> =
        found.iter().filter(|(kind, ..)| !is_named(kind)).map(|(_, line, _)| *line).collect();
    found.into_iter().filter(|(kind, line, _)| !is_named(kind) || !known.contains(line)).collect()
}

/// The surroundings of a keyword: its line, and for what spans lines also what follows.
fn window(content: &[u8], start: usize, end: usize, shape: &Shape) -> (usize, usize) {
    let earliest = start.saturating_sub(BEFORE);
    let latest = content.len().min(end + BEHIND);
    let before = content.get(earliest..start).unwrap_or_default();
    let from = memchr::memrchr(b'\n', before).map_or(earliest, |at| earliest + at + 1);
    if shape.place == Where::Lines {
        return (from, latest);
    }
    let behind = content.get(end..latest).unwrap_or_default();
    (from, memchr::memchr(b'\n', behind).map_or(latest, |at| end + at))
}

fn is_allowed_at(content: &[u8], at: usize) -> bool {
    let start = memchr::memrchr(b'\n', content.get(..at).unwrap_or_default()).map_or(0, |end| end + 1);
    let rest = content.get(at..).unwrap_or_default();
    let end = at + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    let line = content.get(start..end).unwrap_or_default();
    ALLOWED.iter().any(|word| memchr::memmem::find(line, word).is_some())
}

/// Counts lines once, as long as places come mostly in order.
#[derive(Default)]
struct LineCounter {
    at: usize,
    line: usize,
}

impl LineCounter {
    fn line_of(&mut self, content: &[u8], at: usize) -> usize {
        if at < self.at {
            *self = Self::default();
        }
        let between = content.get(self.at..at).unwrap_or_default();
        self.line += memchr::memchr_iter(b'\n', between).count();
        self.at = at;
        self.line + 1
    }
}

struct Keywords {
    search: AhoCorasick,
    /// For each keyword, the shapes that want it.
    shapes: Vec<Vec<usize>>,
}

fn keywords() -> Option<&'static Keywords> {
    static KEYWORDS: OnceLock<Option<Keywords>> = OnceLock::new();
    let build = || {
        let mut words: Vec<&str> = SHAPES.iter().flat_map(|shape| shape.keywords).copied().collect();
        words.sort_unstable();
        words.dedup();
        let wanting = |word: &&str| -> Vec<usize> {
            let shapes = SHAPES.iter().enumerate();
            shapes.filter(|(_, shape)| shape.keywords.contains(word)).map(|(index, _)| index).collect()
        };
        let shapes = words.iter().map(wanting).collect();
        let search = AhoCorasick::builder().ascii_case_insensitive(true).build(&words).ok()?;
        Some(Keywords { search, shapes })
    };
    KEYWORDS.get_or_init(build).as_ref()
}

fn pattern(index: usize, shape: &Shape) -> Option<&'static Regex> {
    static PATTERNS: [OnceLock<Option<Regex>>; SHAPES.len()] = [const { OnceLock::new() }; SHAPES.len()];
    PATTERNS.get(index)?.get_or_init(|| Regex::new(&format!("(?-u){}", shape.pattern)).ok()).as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pattern that does not compile would never find anything.
    #[test]
    fn every_shape_compiles_and_has_a_keyword() {
        assert!(keywords().is_some());
        for (index, shape) in SHAPES.iter().enumerate() {
            assert!(pattern(index, shape).is_some(), "{}", shape.kind);
            assert!(!shape.keywords.is_empty(), "{}", shape.kind);
            assert!(shape.keywords.iter().all(|word| word.len() >= 2), "{}", shape.kind);
        }
    }
}
