//! Finds secrets in what is about to be committed or pushed, so that they never leave (A12).
//!
//! Three things tell a secret. The shapes of well-known tokens are a table (`shapes`): a keyword that must occur, a
//! pattern, and a check by checksum, entropy or placeholder. A name, a flag, a header or a sentence says that its value
//! is one (`assignment`), and the value looks like it. And some files are secrets as a whole, by their names
//! (`secret_file`). What is in pieces on several lines or in base64 is looked through as well (`hidden_text`).
//!
//! One pass looks for all keywords; a pattern is compiled only when its keyword occurs, and tried only around it.
//! Random-looking text that nothing calls a secret (hashes, ids, images) is no finding.
//!
//! A finding says where and what kind, never the secret: there is no field that could hold it.

mod allow;
mod assignment;
mod checks;
mod command;
mod gitleaks;
mod hidden_text;
mod other_languages;
mod random_word;
mod secret_file;
mod secret_name;
mod shapes;
mod unguessable;
mod value_place;

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use aho_corasick::AhoCorasick;
use change_set::BytePath;
use keeping::{Added, AddedFile};
use regex::bytes::Regex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use assignment::{Assignment, Place};
use secret_name::SecretName;
use shapes::{SHAPES, Shape, Where};

pub use allow::Allow;
pub(crate) use command::command_without_values;
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

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, kind, fingerprint } = self;
        write!(formatter, "`{path}` line {line}: {kind} (`{fingerprint}`)")
    }
}

/// What a name beside it calls a secret: in quotes or in a sentence, and otherwise.
const ASSIGNED: &str = "assigned-secret";
const ASSIGNED_BARE: &str = "assigned-variable";

/// The kinds that are looked for, for an allow list.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    SHAPES.iter().map(|shape| shape.kind).chain([ASSIGNED, ASSIGNED_BARE, secret_file::KIND])
}

/// Looks through the new lines.
pub fn scan(added: &Added, allow: &Allow) -> Vec<Finding> {
    let mut findings: Vec<Finding> = added.files.iter().flat_map(|file| scan_file(file, allow)).collect();
    findings.sort();
    findings.dedup();
    findings
}

/// Whether the value of an environment variable is a secret: by the variable's name, or as it would be in a file.
pub fn is_secret_variable(name: &str, value: &str) -> bool {
    // The folder of the shell, and the one before it.
    if matches!(name, "PWD" | "OLDPWD") && value.starts_with('/') {
        return false;
    }
    let is_named = matches!(SecretName::of(name.as_bytes()), Some(SecretName::Password | SecretName::Token));
    !value.is_empty() && (is_named || !suspects(format!("{name}=\"{value}\"\n").as_bytes()).is_empty())
}

/// Stands where something was left out.
const WITHHELD: &str = "(withheld)";

/// The text without words that look random.
pub(crate) fn without_random_words(text: &str) -> String {
    random_word::without_random_words(text, WITHHELD)
}

/// The lines without what stands in a secret's place, whatever it looks like, and what is behind it on its line; and
/// without words that look random.
pub(crate) fn without_values(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut is_named_before = false;
    // A colon is one in every script.
    for line in text.replace('：', ": ").lines() {
        let is_value = is_named_before && !line.trim().is_empty();
        lines.push(match value_place::value_place(line) {
            _ if is_value => WITHHELD.to_owned(),
            Some(at) => format!("{}{WITHHELD}", text::head(line, at)),
            None => line.to_owned(),
        });
        // `password:`, `password: |` or `--password \\`, with the value on the next line that has something.
        let opens = |letter: char| ":=|>\\('\"".contains(letter);
        let name = line.trim_end().trim_end_matches(|letter| "|>-\\('\" ".contains(letter));
        let is_named = line.trim_end().ends_with(opens)
            && value_place::value_place(&format!("{name} x1")).is_some_and(|at| at >= name.len());
        is_named_before = is_named || (is_named_before && line.trim().is_empty());
    }
    without_random_words(&lines.join("\n"))
}

fn scan_file(file: &AddedFile, allow: &Allow) -> Vec<Finding> {
    if allow.has_path(&file.path) {
        return Vec::new();
    }
    let content = as_bytes_of_text(&file.content);
    let mut suspects = suspects(&content);
    // A value that is known by its shape is reported as that.
    let is_one_secret = || suspects.is_empty() && secret_file::is_one_secret(&file.path, &content);
    if (secret_file::is_secret(&file.path, &content) || is_one_secret())
        && let Some(line) = file.lines.first()
    {
        suspects.push(Suspect {
            kind: secret_file::KIND,
            first: *line,
            last: *line,
            secret: content.to_vec(),
        });
    }
    let mut findings = Vec::new();
    for Suspect { kind, first, last, secret } in suspects {
        let new =
            file.lines.get(file.lines.partition_point(|line| *line < first)).filter(|line| **line <= last);
        let Some(line) = new else { continue };
        let finding = Finding::new(&file.path, *line, kind, &secret);
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

/// Something that looks like a secret.
struct Suspect {
    kind: &'static str,
    /// The lines that it is on, counted from one.
    first: usize,
    last: usize,
    secret: Vec<u8>,
}

/// Everything that looks like a secret and is not allowed by a comment.
fn suspects(content: &[u8]) -> Vec<Suspect> {
    let is_binary = memchr::memchr(0, content.get(..8000).unwrap_or(content)).is_some();
    let mut place = LineCounter::default();
    let mut found: Vec<Suspect> = Vec::new();
    for (kind, at, secret) in seen(content, is_binary) {
        let line = place.line_of(content, at);
        found.push(Suspect { kind, first: line, last: line, secret: secret.to_vec() });
    }
    if !is_binary {
        for hidden in hidden_text::hidden_texts(content) {
            for (kind, at, secret) in seen(&hidden.text, is_binary) {
                let (first, last) = hidden.lines(at, at + secret.len());
                // What is whole on one line has been seen there.
                let is_known =
                    |suspect: &Suspect| suspect.first == first && suspect.kind == kind && first == last;
                // And of what is in pieces, one may have been.
                found.retain(|seen| {
                    first == last || seen.kind != kind || seen.last < first || last < seen.first
                });
                if !found.iter().any(is_known) {
                    found.push(Suspect { kind, first, last, secret: secret.to_vec() });
                }
            }
        }
    }
    if !found.is_empty() {
        let lines: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
        let of = |suspect: &Suspect| lines.get(suspect.first - 1..suspect.last).unwrap_or_default();
        found.retain(|suspect| !of(suspect).iter().any(|line| is_allowed(line)));
    }
    without_repeats(found)
}

/// Kind, place and text of what looks like a secret as it stands there.
fn seen(content: &[u8], is_binary: bool) -> Vec<(&'static str, usize, &[u8])> {
    let Some(words) = keywords() else { return Vec::new() };
    let mut found = Vec::new();
    // How far each pattern has been tried already, and how far names have been read.
    let mut tried = vec![0_usize; SHAPES.len()];
    let mut named = 0;
    for hit in words.search.find_overlapping_iter(content) {
        let Some(wanted) = words.wanted.get(hit.pattern().as_usize()) else { continue };
        if wanted.is_in_names && !is_binary && hit.start() >= named {
            let (assignment, end) = Assignment::around(content, hit.start());
            named = end.max(hit.end());
            if let Some(assignment) = assignment.filter(checks::assigned) {
                let kind = if assignment.place == Place::Bare { ASSIGNED_BARE } else { ASSIGNED };
                found.push((kind, assignment.at, assignment.value));
            }
        }
        for shape_index in &wanted.shapes {
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
                let group = captures.iter().skip(1).flatten().next();
                let Some(secret) = group.or_else(|| captures.get(0)) else { continue };
                let whole = captures.get(0).map_or(b"".as_slice(), |whole| whole.as_bytes());
                let at = from + secret.start();
                if (shape.check)(whole, secret.as_bytes())
                    && let Some(secret) = content.get(at..at + secret.len())
                {
                    found.push((shape.kind, at, secret));
                }
            }
        }
    }
    found
}

/// Where a token is known by its own shape, a name beside it that says `token` says nothing more.
fn without_repeats(found: Vec<Suspect>) -> Vec<Suspect> {
    let is_named = |suspect: &Suspect| [ASSIGNED, ASSIGNED_BARE].contains(&suspect.kind);
    let known: Vec<(usize, usize)> =
        found.iter().filter(|suspect| !is_named(suspect)).map(|known| (known.first, known.last)).collect();
    let is_known = |suspect: &Suspect| {
        known.iter().any(|(first, last)| suspect.first <= *last && *first <= suspect.last)
    };
    found.into_iter().filter(|suspect| !is_named(suspect) || !is_known(suspect)).collect()
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

/// Whether somebody has said of the line that there is none on it.
fn is_allowed(line: &[u8]) -> bool {
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
    /// For each keyword, who wants it.
    wanted: Vec<Wanted>,
}

struct Wanted {
    shapes: Vec<usize>,
    is_in_names: bool,
}

fn keywords() -> Option<&'static Keywords> {
    static KEYWORDS: OnceLock<Option<Keywords>> = OnceLock::new();
    let build = || {
        let of_shapes = SHAPES.iter().flat_map(|shape| shape.keywords);
        let mut words: Vec<&str> = of_shapes.chain(secret_name::KEYWORDS).copied().collect();
        words.sort_unstable();
        words.dedup();
        let wanted = |word: &&str| -> Wanted {
            let shapes = SHAPES.iter().enumerate();
            let shapes = shapes.filter(|(_, shape)| shape.keywords.contains(word)).map(|(index, _)| index);
            Wanted { shapes: shapes.collect(), is_in_names: secret_name::KEYWORDS.contains(word) }
        };
        let wanted = words.iter().map(wanted).collect();
        let search = AhoCorasick::builder().ascii_case_insensitive(true).build(&words).ok()?;
        Some(Keywords { search, wanted })
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
