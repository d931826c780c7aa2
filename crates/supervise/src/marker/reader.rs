//! Markers out of a stream of bytes that arrives in pieces. Almost all output is no marker, so the way over it is one
//! search for a bracket with a capital behind it; only a line that begins so is looked at, and only such a line is
//! kept when a piece ends in its middle.

use super::Marker;

/// A longer line is no marker; what has been kept of it is let go.
pub const LONGEST_LINE: usize = 16 * 1024;

#[derive(Debug, Default)]
pub struct Reader {
    place: LinePlace,
    /// The beginning of a line that may become a marker, from its bracket on.
    line: Vec<u8>,
}

/// Where in its line the last piece ended.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
enum LinePlace {
    /// Nothing but white space so far.
    #[default]
    Beginning,
    /// In a line that is no marker.
    Elsewhere,
    /// In a line that may be one; `Reader::line` has it.
    Candidate,
}

impl Reader {
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece, and hands out the markers whose lines ended in it.
    pub fn read(&mut self, piece: &[u8], found: &mut dyn FnMut(Marker)) {
        let mut rest = piece;
        if self.place == LinePlace::Candidate {
            let Some(after) = self.go_on(rest, found) else { return };
            rest = after;
        }
        let mut from = 0;
        while let Some(bracket) = opening(rest.get(from..).unwrap_or_default()) {
            let bracket = from + bracket;
            from = bracket + 1;
            if !self.begins_line(rest.get(..bracket).unwrap_or_default()) {
                continue;
            }
            self.place = LinePlace::Candidate;
            let Some(after) = self.go_on(rest.get(bracket..).unwrap_or_default(), found) else { return };
            rest = after;
            from = 0;
        }
        let last_line = memchr::memrchr(b'\n', rest).map(|newline| newline + 1);
        let begins_here = last_line.is_some() || self.place == LinePlace::Beginning;
        let blank = rest.get(last_line.unwrap_or(0)..).unwrap_or_default().iter().all(is_white_space);
        self.place = if begins_here && blank { LinePlace::Beginning } else { LinePlace::Elsewhere };
    }

    /// The stream is over: a last line without a line end counts as well.
    pub fn finish(&mut self, found: &mut dyn FnMut(Marker)) {
        if self.place == LinePlace::Candidate {
            hand_out(&self.line, found);
        }
        self.line.clear();
        self.place = LinePlace::Beginning;
    }

    /// Whether only white space lies between the line's beginning and the end of `before`.
    fn begins_line(&self, before: &[u8]) -> bool {
        match before.iter().rposition(|byte| !is_white_space(byte)) {
            Some(other) => before.get(other) == Some(&b'\n'),
            None => self.place == LinePlace::Beginning,
        }
    }

    /// In a candidate: to the end of its line. What follows the line, or `None` if the piece is used up.
    fn go_on<'a>(&mut self, piece: &'a [u8], found: &mut dyn FnMut(Marker)) -> Option<&'a [u8]> {
        let newline = memchr::memchr(b'\n', piece);
        let (of_line, after) = piece.split_at_checked(newline.unwrap_or(piece.len()))?;
        if self.line.len() + of_line.len() > LONGEST_LINE {
            self.line.clear();
            self.place = LinePlace::Elsewhere;
        } else if newline.is_none() {
            self.line.extend_from_slice(of_line);
        } else if self.line.is_empty() {
            hand_out(of_line, found);
        } else {
            self.line.extend_from_slice(of_line);
            hand_out(&self.line, found);
        }
        newline?;
        self.line.clear();
        self.place = LinePlace::Beginning;
        after.get(1..)
    }
}

/// The first bracket with a capital behind it, or with nothing yet. Brackets are common in logs: a search for them alone
/// would stop in every line.
fn opening(bytes: &[u8]) -> Option<usize> {
    let opens = |byte: u8, next: u8| (byte == b'[') & next.wrapping_sub(b'A').le(&25);
    let following = bytes.get(1..)?;
    // Without an exit inside a block, the compiler makes it a few instructions for many bytes.
    let blocks = bytes.as_chunks::<64>().0.iter().zip(following.as_chunks::<64>().0);
    let block = blocks.clone().position(|(block, following)| {
        block.iter().zip(following).fold(false, |any, (byte, next)| any | opens(*byte, *next))
    });
    let from = 64 * block.unwrap_or(blocks.len());
    let pairs = bytes.iter().zip(following).skip(from);
    let found = pairs.clone().position(|(byte, next)| opens(*byte, *next)).map(|place| from + place);
    found.or_else(|| (bytes.last() == Some(&b'[')).then(|| bytes.len() - 1))
}

fn hand_out(line: &[u8], found: &mut dyn FnMut(Marker)) {
    if line.len() <= LONGEST_LINE
        && let Some(marker) = Marker::parse(&String::from_utf8_lossy(line))
    {
        found(marker);
    }
}

/// White space within a line.
fn is_white_space(byte: &u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}
