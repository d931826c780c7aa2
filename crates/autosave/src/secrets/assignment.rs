//! A value that stands where a secret stands: assigned to a name, given to a flag, sent in a header, or told in a sentence,
//! in whatever syntax that is written. One reader for all of them, since files are pasted into each other.
//!
//! Everything is bounded: a name, the space behind it and a value have a longest length, so that a look at a text takes
//! time by its length alone.

use super::secret_name::SecretName;

const LONGEST_NAME: usize = 80;
const LONGEST_SPACE: usize = 32;
const LONGEST_VALUE: usize = 2048;
/// How a header says that a secret follows.
const SCHEMES: [&[u8]; 5] = [b"bearer ", b"basic ", b"token ", b"digest ", b"apikey "];
/// Behind the name of a variable, its default is looked for in so much of its block.
const LONGEST_BLOCK: usize = 600;
/// Words between what a sentence names and its value: `the password of the test server is`.
const MOST_WORDS_BETWEEN: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In quotes, so that it is a text and no expression.
    Quoted,
    /// Up to the next white space or separator.
    Bare,
    /// In a sentence that names what it is.
    Sentence,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Assignment<'a> {
    pub(super) name: SecretName,
    pub(super) place: Place,
    pub(super) value: &'a [u8],
    /// Where the value begins.
    pub(super) at: usize,
}

impl<'a> Assignment<'a> {
    /// The one whose name has the bytes `at` in it, and where that name ends: no second one begins before.
    pub(super) fn around(content: &'a [u8], at: usize) -> (Option<Self>, usize) {
        let start = at - run_before(content, at, LONGEST_NAME, is_of_name);
        let end = at + run(content, at, LONGEST_NAME, is_of_name);
        // A sentence may end with the name.
        let name = content.get(start..end).unwrap_or_default().trim_ascii_end_matches(b".-");
        (Self::behind(content, name, start + name.len()), end)
    }

    fn behind(content: &'a [u8], name: &[u8], end_of_name: usize) -> Option<Self> {
        let mut meaning = SecretName::of(name)?;
        if meaning == SecretName::Perhaps {
            // In a sentence it is the word before that says what a key is for.
            let start = end_of_name - name.len();
            let spaced = start - run_before(content, start, 1, |byte| byte == b' ');
            let said = spaced - run_before(content, spaced, LONGEST_NAME, is_of_name);
            meaning = SecretName::of(content.get(said..end_of_name)?)?;
        }
        let reader = Reader { content, at: end_of_name };
        let is_flag = name.starts_with(b"-") && content.get(end_of_name) == Some(&b' ');
        let (place, at, end) =
            if is_flag { reader.flag() } else { reader.assigned().or_else(|| reader.told()) }?;
        let value = content.get(at..end).filter(|value| !value.is_empty())?;
        // `Authorization: Bearer …` says what follows, whatever else is called so.
        let before = content.get(end_of_name..at).unwrap_or_default().to_ascii_lowercase();
        let is_header = SCHEMES.iter().any(|scheme| before.ends_with(scheme));
        let name = if is_header { SecretName::Token } else { meaning };
        Some(Self { name, place, value, at })
    }
}

trait TrimEnd {
    fn trim_ascii_end_matches(&self, bytes: &[u8]) -> &Self;
}

impl TrimEnd for [u8] {
    fn trim_ascii_end_matches(&self, bytes: &[u8]) -> &Self {
        let end = self.iter().rposition(|byte| !bytes.contains(byte)).map_or(0, |last| last + 1);
        self.get(..end).unwrap_or_default()
    }
}

/// Where something is, and where it begins and ends.
type Placed = (Place, usize, usize);

#[derive(Clone, Copy)]
struct Reader<'a> {
    content: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(self) -> &'a [u8] {
        self.content.get(self.at..).unwrap_or_default()
    }

    fn ahead(self, count: usize) -> Self {
        Self { at: self.at + count, ..self }
    }

    fn skip(self, most: usize, is: fn(u8) -> bool) -> Self {
        self.ahead(run(self.content, self.at, most, is))
    }

    fn spaces(self) -> Self {
        self.skip(LONGEST_SPACE, |byte| matches!(byte, b' ' | b'\t'))
    }

    fn starts_with(self, word: &[u8]) -> bool {
        self.rest().get(..word.len()).is_some_and(|rest| rest.eq_ignore_ascii_case(word))
    }

    /// `--token value`
    fn flag(self) -> Option<Placed> {
        self.spaces().value()
    }

    /// `name = value`, `"name": "value"`, `name["key"] = 'value'`, `<name>value<`, `name: Type = "value"`,
    /// `("name", "value")`, `name: X` with `value: Y`, `variable "name" { default = "value" }`.
    fn assigned(self) -> Option<Placed> {
        let closed = self.skip(4, |byte| matches!(byte, b'"' | b'\'' | b'`' | b'\\' | b']' | b'*'));
        // What ends a path in a list names a file, and not what comes next.
        let name = self.at - run_before(self.content, self.at, LONGEST_NAME, is_of_name);
        let is_of_path = name.checked_sub(1).and_then(|before| self.content.get(before)) == Some(&b'/');
        let is_closed = closed.at > self.at && !is_of_path;
        let sign = closed.spaces();
        let assigned = [&b":="[..], b"=>", b"==", b"=", b":", b">"]
            .into_iter()
            .find(|sign_of| sign.starts_with(sign_of));
        let Some(written) = assigned else {
            let block = || sign.block().filter(|_| is_closed);
            return block().or_else(|| sign.listed(is_closed));
        };
        let value = sign.ahead(written.len()).spaces();
        let typed =
            value.skip(32, |byte| byte.is_ascii_alphanumeric() || b"&_<>[]|'?".contains(&byte)).spaces();
        if written == b":" && typed.at > value.at && typed.starts_with(b"=") && !typed.starts_with(b"==") {
            return typed.ahead(1).spaces().value();
        }
        value.value().or_else(|| value.block()).or_else(|| closed.listed(is_closed))
    }

    /// What the block that begins here says the value is if nobody says another.
    fn block(self) -> Option<Placed> {
        let inside = self.rest().strip_prefix(b"{")?;
        let inside = inside.get(..inside.len().min(LONGEST_BLOCK)).unwrap_or_default();
        let inside = inside.split(|byte| *byte == b'}').next()?;
        [&b"default"[..], b"value"].into_iter().find_map(|key| {
            memchr::memmem::find_iter(inside, key).find_map(|at| {
                let is_part =
                    at.checked_sub(1).and_then(|at| inside.get(at)).is_some_and(|byte| is_of_name(*byte));
                let sign = self.ahead(1 + at + key.len()).skip(1, |byte| byte == b'"').spaces();
                let is_value = !is_part && (sign.starts_with(b":") || sign.starts_with(b"="));
                is_value.then(|| sign.ahead(1).spaces().value())?
            })
        })
    }

    /// The next text of a list, or the `value` that goes with the `name`.
    fn listed(self, is_closed: bool) -> Option<Placed> {
        let comma = self.skip(1, |byte| byte == b',');
        if is_closed
            && comma.at > self.at
            && matches!(comma.spaces().rest().first(), Some(b'"' | b'\'' | b'`'))
        {
            let key = comma.spaces().ahead(1);
            if !key.starts_with(b"value") {
                return comma.spaces().value();
            }
        }
        let next = comma.skip(LONGEST_SPACE, |byte| byte.is_ascii_whitespace());
        let key = next.skip(2, |byte| matches!(byte, b'"' | b'\'' | b'\\'));
        let sign = key.ahead(5).skip(2, |byte| matches!(byte, b'"' | b'\'' | b'\\')).spaces();
        let is_value = key.starts_with(b"value") && (sign.starts_with(b":") || sign.starts_with(b"="));
        is_value.then(|| sign.ahead(1).spaces().value())?
    }

    /// The value that begins here.
    fn value(self) -> Option<Placed> {
        let opened = |reader: Self| reader.skip(1, |byte| byte == b'\\').at;
        let letters = self.skip(2, |byte| b"bBrRuUfF".contains(&byte));
        let prefixed = if matches!(letters.rest().first(), Some(b'"' | b'\'')) { letters } else { self };
        let start = Self { at: opened(prefixed), ..prefixed };
        let quote = start.rest().first().copied().filter(|byte| matches!(byte, b'"' | b'\'' | b'`'));
        let inside = quote.map_or(self, |_| start.ahead(1));
        let scheme =
            SCHEMES.iter().find(|scheme| inside.starts_with(scheme)).map_or(0, |scheme| scheme.len());
        let inside = inside.ahead(scheme).spaces();
        let text = inside.rest();
        let text = text.get(..text.len().min(LONGEST_VALUE)).unwrap_or_default();
        let (place, length) = match quote {
            Some(quote) => {
                let closing =
                    memchr::memchr2(quote, b'\n', text).filter(|at| text.get(*at) == Some(&quote))?;
                let escaped = usize::from(start.at > prefixed.at && text.get(..closing)?.ends_with(b"\\"));
                (Place::Quoted, closing - escaped)
            }
            None => {
                let ends = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`,;&<>|(){}[]".contains(byte);
                let length = text.iter().position(ends).unwrap_or(text.len());
                // What goes on like this is an expression or a template.
                if text.get(length).is_some_and(|byte| b"([{".contains(byte)) {
                    return None;
                }
                (Place::Bare, length)
            }
        };
        Some((place, inside.at, inside.at + length))
    }

    /// `… key for staging is VALUE`, and `… key:` with the value on a line of its own.
    fn told(self) -> Option<Placed> {
        let line = self.rest();
        let line = line.get(..line.len().min(LONGEST_VALUE)).unwrap_or_default();
        let end = memchr::memchr(b'\n', line).unwrap_or(line.len());
        let mut at = 0;
        for _ in 0..=MOST_WORDS_BETWEEN {
            let rest = line.get(at..end)?;
            if rest.trim_ascii().is_empty() {
                break;
            }
            let gap = rest.iter().take_while(|byte| b" \t:`'\"*,-".contains(byte)).count();
            if !rest.get(..gap)?.iter().any(u8::is_ascii_whitespace) {
                return None;
            }
            let word = rest.get(gap..)?;
            let length = word
                .iter()
                .take_while(|byte| !byte.is_ascii_whitespace() && !b"`'\",".contains(byte))
                .count();
            if length == 0 {
                break;
            }
            let is_word =
                word.get(..length)?.iter().all(|byte| byte.is_ascii_lowercase() || b":.".contains(byte));
            if !is_word {
                return Some((Place::Sentence, self.at + at + gap, self.at + at + gap + length));
            }
            at += gap + length;
        }
        // The sentence is over: its value may be alone on the next line that has one.
        let sentence = line.get(..end)?.trim_ascii_end();
        let next = self.ahead(end).skip(8, |byte| byte.is_ascii_whitespace());
        let length = run(self.content, next.at, LONGEST_VALUE, |byte| !byte.is_ascii_whitespace());
        let is_alone = matches!(self.content.get(next.at + length), None | Some(b'\n' | b'\r'));
        (sentence.ends_with(b":") && is_alone).then_some((Place::Sentence, next.at, next.at + length))
    }
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-')
}

/// How many bytes from here on are such ones.
fn run(content: &[u8], from: usize, most: usize, is: fn(u8) -> bool) -> usize {
    content.get(from..).unwrap_or_default().iter().take(most).take_while(|byte| is(**byte)).count()
}

fn run_before(content: &[u8], to: usize, most: usize, is: fn(u8) -> bool) -> usize {
    content.get(..to).unwrap_or_default().iter().rev().take(most).take_while(|byte| is(**byte)).count()
}
