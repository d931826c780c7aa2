//! Texts that a file has in another form: a text in pieces, on one line or on several, put together, and base64, decoded. A
//! secret in one of them is as readable as any other.

use std::sync::OnceLock;

use regex::bytes::Regex;

/// Longer ones are looked at in parts.
const LONGEST: usize = 64 * 1024;
const SHORTEST_ENCODED: usize = 24;

/// One of them.
pub(super) struct HiddenText {
    pub(super) text: Vec<u8>,
    /// Of the file, counted from one.
    first_line: usize,
    /// Where in the text each of its lines begins.
    starts: Vec<usize>,
}

impl HiddenText {
    fn new(first_line: usize, text: Vec<u8>) -> Self {
        Self { text, first_line, starts: vec![0] }
    }

    /// The lines of the file that this part of the text comes from.
    pub(super) fn lines(&self, from: usize, to: usize) -> (usize, usize) {
        let line =
            |at: usize| self.first_line + self.starts.partition_point(|start| *start <= at).saturating_sub(1);
        (line(from), line(to.saturating_sub(1)))
    }
}

pub(super) fn hidden_texts(content: &[u8]) -> Vec<HiddenText> {
    let lines: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
    let mut texts = joined(&lines);
    texts.extend(joined_on_line(&lines));
    texts.extend(decoded(&lines));
    texts
}

/// `"abc" + "def"` on one line.
fn joined_on_line(lines: &[&[u8]]) -> Vec<HiddenText> {
    static JOINT: OnceLock<Option<Regex>> = OnceLock::new();
    let pattern = r#"(?-u)["'`]\s{0,8}(?:\+|\.\.?|&)\s{0,8}["'`]"#;
    let Some(joint) = JOINT.get_or_init(|| Regex::new(pattern).ok()) else { return Vec::new() };
    let lines = lines.iter().enumerate().filter(|(_, line)| line.len() <= LONGEST && joint.is_match(line));
    lines
        .map(|(index, line)| HiddenText::new(index + 1, joint.replace_all(line, &b""[..]).into_owned()))
        .collect()
}

/// How a line goes on in the next one.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Joint {
    /// `abc\` and `def`
    Word,
    /// `"abc" +` and `"def"`, or without any sign
    Texts,
    /// `name =` and `"abc"`
    Value,
}

fn joined(lines: &[&[u8]]) -> Vec<HiddenText> {
    let mut texts: Vec<HiddenText> = Vec::new();
    let mut open: Option<(HiddenText, Joint)> = None;
    for (index, line) in lines.iter().enumerate() {
        let next = lines.get(index + 1).map_or(b"".as_slice(), |next| next.trim_ascii());
        let piece = match &open {
            Some((_, Joint::Texts)) => without_sign(line.trim_ascii()).get(1..).unwrap_or_default(),
            Some(_) => line.trim_ascii(),
            None => line.trim_ascii_end(),
        };
        let going_on = joint(piece, next);
        let kept = going_on.map_or(piece, |(kept, _)| kept);
        let mut text = match (open.take(), going_on) {
            (None, None) => continue,
            (None, Some(_)) => HiddenText { first_line: index + 1, text: Vec::new(), starts: Vec::new() },
            (Some((text, _)), _) => text,
        };
        text.starts.push(text.text.len());
        text.text.extend_from_slice(kept);
        match going_on {
            Some((_, joint)) if text.text.len() < LONGEST => open = Some((text, joint)),
            _ => texts.push(text),
        }
    }
    texts
}

/// What is left of a line that goes on in the next one, and how it does.
fn joint<'a>(line: &'a [u8], next: &[u8]) -> Option<(&'a [u8], Joint)> {
    let is_quote = |byte: Option<&u8>| matches!(byte, Some(b'"' | b'\'' | b'`'));
    let begins_text = is_quote(without_sign(next).first());
    let unsigned = [&b"+"[..], b".", b"\\"].into_iter().find_map(|sign| line.strip_suffix(sign));
    let ended = unsigned.unwrap_or(line).trim_ascii_end();
    if begins_text && is_quote(ended.last()) {
        return Some((ended.split_last()?.1, Joint::Texts));
    }
    if let Some(word) = line.strip_suffix(b"\\") {
        return Some((word, Joint::Word));
    }
    let unopened = line.strip_suffix(b"(").unwrap_or(line).trim_ascii_end();
    (begins_text && unopened.ends_with(b"=")).then_some((unopened, Joint::Value))
}

fn without_sign(line: &[u8]) -> &[u8] {
    line.strip_prefix(b"+").or_else(|| line.strip_prefix(b".")).unwrap_or(line).trim_ascii_start()
}

/// What is base64 of something that can be read.
fn decoded(lines: &[&[u8]]) -> Vec<HiddenText> {
    let mut texts = Vec::new();
    let mut taken = 0;
    for (index, line) in lines.iter().enumerate() {
        if line.len() < SHORTEST_ENCODED || index < taken {
            continue;
        }
        let mut last = None;
        for run in line.split(|byte| !is_encoded(*byte)).filter(|run| run.len() >= SHORTEST_ENCODED) {
            last = Some(run);
            texts.extend(readable(run).map(|text| HiddenText::new(index + 1, text)));
        }
        // Encoders break their lines; the whole is then on lines of its own.
        let is_whole = |line: &&&[u8]| {
            let line = line.trim_ascii();
            line.len() >= 4 && line.iter().all(|byte| is_encoded(*byte) || *byte == b'=')
        };
        let Some(run) = last.filter(|run| line.trim_ascii_end().ends_with(run)) else { continue };
        let following = lines.get(index + 1..).unwrap_or_default().iter().take(LONGEST / SHORTEST_ENCODED);
        let following: Vec<&&[u8]> = following.take_while(is_whole).collect();
        if !following.is_empty() {
            taken = index + 1 + following.len();
            let mut whole = run.to_vec();
            for line in following {
                whole.extend(line.trim_ascii().iter().filter(|byte| **byte != b'='));
            }
            texts.extend(readable(&whole).map(|text| HiddenText::new(index + 1, text)));
        }
    }
    texts
}

fn is_encoded(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// The text that this is base64 of, if it is one: words decode to anything but text.
fn readable(encoded: &[u8]) -> Option<Vec<u8>> {
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    let first = base64(encoded.get(..SHORTEST_ENCODED)?)?;
    if !first.iter().all(is_text) {
        return None;
    }
    let text = base64(encoded.get(..encoded.len().min(LONGEST))?)?;
    let length = text.iter().position(|byte| !is_text(byte)).unwrap_or(text.len());
    text.get(..length).map(<[u8]>::to_vec)
}

/// With either alphabet, and without the signs at its end.
pub(super) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for letter in text {
        let value = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'-' | b'+' => 62,
            b'_' | b'/' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}
