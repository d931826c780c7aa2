//! Finds any of a few words in a text, many bytes at once where the processor can do that. Cheap to make: a hook is a process
//! that looks through little text.

use aho_corasick::packed::{Config, Searcher};
use aho_corasick::{AhoCorasick, Input, Span};

/// Finds any of a few words.
#[derive(Debug)]
pub struct WordFinder(Method);

#[derive(Debug)]
enum Method {
    ManyBytesAtOnce(Box<Searcher>),
    /// For processors that cannot do that.
    ByteByByte(AhoCorasick),
    /// Nothing can be found, so that nobody has to ask for the reason.
    Nothing,
}

impl WordFinder {
    pub fn new(words: &[&str]) -> Self {
        let packed = Config::new().builder().extend(words).build().map(Box::new).map(Method::ManyBytesAtOnce);
        let method = packed.or_else(|| AhoCorasick::new(words).ok().map(Method::ByteByByte));
        Self(method.unwrap_or(Method::Nothing))
    }

    /// Where the first one begins at or behind this place.
    pub fn find(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let span = Span { start: from, end: bytes.len() };
        let found = match &self.0 {
            Method::ManyBytesAtOnce(searcher) => searcher.find_in(bytes, span),
            Method::ByteByByte(automaton) => automaton.find(Input::new(bytes).span(span)),
            Method::Nothing => None,
        };
        found.map(|found| found.start())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_from_a_place_on() {
        let finder = WordFinder::new(&["one", "two"]);
        let text = b"a line that is longer than a register: two, one and one more";
        let places = [0, 40, 45, 57].map(|from| finder.find(text, from));
        assert_eq!(places, [Some(39), Some(44), Some(52), None]);
        assert_eq!(finder.find(b"", 0), None);
    }
}
