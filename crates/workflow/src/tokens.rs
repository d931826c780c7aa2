//! How long a text is. Two measures, and each has its own use:
//!
//! - The **count** is the number of words between white space. It decides whether a summary is too long, since every
//!   tool that reads the same files counts like this.
//! - The **estimate** is about how many tokens a model's tokenizer makes of the text. Words say little about Japanese,
//!   code or long names; the estimate warns where a text passes the count and is long nevertheless.
//!
//! The estimate cuts a text as tokenizers do before they look anything up, and then goes by lengths. A word is cut where
//! digits begin or end and where a capital follows a small letter, digits come in threes, and one sign or space belongs to
//! the word behind it. A short piece is a token; longer ones, capitals and letters with marks cost more; what is cut very
//! often is random (a hash, a key, base64) and costs by its length. Letters of other scripts, ideographs and symbols cost
//! by their number. On the texts of the tests that is never below 0.9 of what `o200k` counts, and half of the time within
//! 1.15 of it (`cargo xtask bench tokens`): other tokenizers make more of the same text.

use serde::Serialize;

/// A summary may have this many words.
pub const MAX_SUMMARY_TOKENS: usize = 500;

/// A text with a larger estimate is worth a warning.
pub const ESTIMATE_WARNING: usize = 1000;

/// The words of a text.
pub fn count(text: &str) -> usize {
    text.split(is_white).filter(|word| !word.is_empty()).count()
}

/// What separates words: white space as regular expressions of JavaScript have it, whose tools count the same files.
/// It knows the byte order mark and does not know U+0085; Unicode has it the other way round.
pub(crate) fn is_white(character: char) -> bool {
    character == '\u{feff}' || (character != '\u{85}' && character.is_whitespace())
}

/// Whether a summary is short enough.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Validation {
    pub valid: bool,
    /// The words.
    pub token_count: usize,
    /// The most words allowed.
    pub limit: usize,
    /// What is wrong, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

pub fn validate(summary: &str, limit: usize) -> Validation {
    let token_count = count(summary);
    let valid = token_count <= limit;
    let error = (!valid)
        .then(|| format!("Context summary exceeds {limit} token limit (actual: {token_count} tokens)"));
    Validation { valid, token_count, limit, error }
}

/// About how many tokens a model's tokenizer makes of the text.
pub fn estimate(text: &str) -> usize {
    let mut ended = 0;
    let mut run = Run::of(CharacterKind::White);
    for character in text.chars() {
        let kind = CharacterKind::of(character);
        if kind != run.kind {
            ended += run.cost_before(character);
            run = Run { is_behind_sign: run.kind == CharacterKind::Sign, ..Run::of(kind) };
        }
        run.add(character);
    }
    (ended + run.cost).div_ceil(TOKEN)
}

/// Costs are counted in parts of a token.
const TOKEN: usize = 20;

/// A sign that belongs to the word behind it.
const JOINED_SIGN: usize = 9;

/// A letter with a mark: of the languages that tokenizers know well, and of those that they cut into small pieces, in
/// which words without marks cost more as well.
const MARKED: usize = 5;
const MARKED_SELDOM: usize = 40;

/// Characters that tokenizers treat alike.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CharacterKind {
    White,
    /// Latin letters and digits.
    Word,
    Ideograph,
    /// Letters of another script, of which so many make two tokens.
    Script(usize),
    Sign,
    Symbol,
}

impl CharacterKind {
    fn of(character: char) -> Self {
        match character {
            _ if is_white(character) => Self::White,
            'a'..='z' | 'A'..='Z' | '0'..='9' => Self::Word,
            _ if character.is_ascii_punctuation() => Self::Sign,
            // Kana, ideographs, Hangul, and their punctuation and full-width forms.
            '\u{1100}'..='\u{11ff}'
            | '\u{2e80}'..='\u{9fff}'
            | '\u{a960}'..='\u{a97f}'
            | '\u{ac00}'..='\u{d7ff}'
            | '\u{f900}'..='\u{faff}'
            | '\u{ff00}'..='\u{ffef}'
            | '\u{20000}'..='\u{3ffff}' => Self::Ideograph,
            '\u{aa}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' if character.is_alphabetic() => Self::Word,
            // Cyrillic.
            '\u{400}'..='\u{52f}' => Self::Script(7),
            // Arabic and Devanagari, with their marks.
            '\u{600}'..='\u{6ff}' | '\u{900}'..='\u{97f}' => Self::Script(6),
            // Greek, Hebrew, Thai.
            '\u{370}'..='\u{3ff}' | '\u{590}'..='\u{5ff}' | '\u{e00}'..='\u{e7f}' => Self::Script(5),
            _ if character.is_alphanumeric() => Self::Script(3),
            _ => Self::Symbol,
        }
    }
}

/// A part of a word that is never joined with the next.
#[derive(Clone, Copy, Default)]
struct Piece {
    length: usize,
    capitals: usize,
    digits: usize,
    /// What the marks on its letters cost.
    marks: usize,
}

impl Piece {
    fn goes_on_with(self, character: char) -> bool {
        match (self.digits > 0, character.is_ascii_digit()) {
            (true, is_digit) => is_digit && self.length < 3,
            (false, true) => self.length == 0,
            (false, false) => !character.is_uppercase() || self.capitals == self.length,
        }
    }

    fn add(&mut self, character: char) {
        self.length += 1;
        self.capitals += usize::from(character.is_uppercase());
        self.digits += usize::from(character.is_ascii_digit());
        self.marks += match character {
            '\u{100}'..='\u{17f}' => MARKED_SELDOM,
            _ if character.is_ascii() => 0,
            _ => MARKED,
        };
    }

    fn cost(self) -> usize {
        match self {
            Self { length: 0, .. } => 0,
            Self { digits: 1.., .. } => TOKEN,
            // `INFO`
            Self { capitals: 2.., length, .. } if self.capitals == length => {
                TOKEN.max(length * TOKEN * 2 / 5)
            }
            // `JVBq`
            Self { capitals: 2.., length, .. } => length * TOKEN * 2 / 3,
            Self { length, marks, .. } => TOKEN + length.saturating_sub(5) * TOKEN / 6 + marks,
        }
    }
}

/// Characters of one kind in a row.
struct Run {
    kind: CharacterKind,
    length: usize,
    /// The most that it has cost so far: a longer text never costs less.
    cost: usize,
    /// Of a word, what the pieces before the last one cost, and how many there are.
    pieces: usize,
    cuts: usize,
    piece: Piece,
    has_letters: bool,
    /// Of white space, whether a line ends in it, and what is behind the last end.
    ends_line: bool,
    indent: usize,
    is_behind_sign: bool,
}

impl Run {
    fn of(kind: CharacterKind) -> Self {
        Self {
            kind,
            length: 0,
            cost: 0,
            pieces: 0,
            cuts: 0,
            piece: Piece::default(),
            has_letters: false,
            ends_line: false,
            indent: 0,
            is_behind_sign: false,
        }
    }

    fn add(&mut self, character: char) {
        self.length += 1;
        if self.kind == CharacterKind::White {
            let is_end = matches!(character, '\n' | '\r');
            self.ends_line |= is_end;
            self.indent = if is_end { 0 } else { self.indent + 1 };
        }
        if self.kind == CharacterKind::Word {
            if !self.piece.goes_on_with(character) {
                self.pieces += self.piece.cost();
                self.cuts += 1;
                self.piece = Piece::default();
            }
            self.piece.add(character);
            self.has_letters |= !character.is_ascii_digit();
        }
        self.cost = self.cost.max(self.measured());
    }

    fn measured(&self) -> usize {
        let length = self.length;
        match self.kind {
            CharacterKind::White => {
                // Signs take the end of a line with them.
                let end = if self.is_behind_sign { TOKEN / 4 } else { TOKEN };
                let indent = if self.indent > 1 { TOKEN } else { 0 };
                indent + if self.ends_line { end } else { 0 }
            }
            CharacterKind::Word => {
                let pieces = self.pieces + self.piece.cost();
                // What is cut so often is random: a hash, a key, an encoded text.
                let is_random = self.cuts >= 2 && self.has_letters && length < (self.cuts + 1) * 3;
                if is_random { pieces.max(length * TOKEN * 13 / 20) } else { pieces }
            }
            CharacterKind::Ideograph => length * TOKEN * 4 / 5,
            CharacterKind::Script(of_two) => TOKEN / 2 + (length - 1) * TOKEN * 2 / of_two,
            CharacterKind::Sign => TOKEN + length.saturating_sub(2) * JOINED_SIGN,
            CharacterKind::Symbol => 2 * length * TOKEN,
        }
    }

    /// What it costs if this comes next.
    fn cost_before(&self, next: char) -> usize {
        match self.kind {
            CharacterKind::Sign if self.length == 1 && next.is_alphabetic() => JOINED_SIGN,
            // A space belongs to a word behind it, but to no number.
            CharacterKind::White if self.indent == 1 && next.is_ascii_digit() => self.cost + TOKEN,
            _ => self.cost,
        }
    }
}

/// What OpenAI's tokenizer of this name counts; `None` in a program that was built without it.
#[cfg(feature = "tokenizer")]
pub fn o200k(text: &str) -> Option<usize> {
    Some(tiktoken_rs::o200k_base_singleton().encode_ordinary(text).len())
}

/// What OpenAI's tokenizer of this name counts; `None` in a program that was built without it.
#[cfg(not(feature = "tokenizer"))]
pub fn o200k(_text: &str) -> Option<usize> {
    None
}
