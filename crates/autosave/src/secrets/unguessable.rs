//! How much of a value could not be guessed by somebody who knows how people write: in bits, with nothing for words,
//! little for dates, numbers at an end and sequences, and the full measure for letters and digits in no order.
//!
//! There is no dictionary. A run of letters is a word if its letters follow each other as they do in words; of eight random
//! letters, one in ten does. Parts between separators are measured one by one: names are made of short ones.

/// For each letter, those that follow it in words and in the names of programs. The pairs that are missing are two of a hundred.
const FOLLOWING: [&str; 26] = [
    "bcdfgiklmnpqrstuvwxy",
    "acdeijlmoprstuy",
    "acdefhiklmoprstuy",
    "abcdefgilnorstuvy",
    "abcdefghiklmnopqrstuvwxy",
    "acdefilorstuy",
    "aeghilmnorstu",
    "adeilmorstuy",
    "abcdefgklmnoprstvxz",
    "aeou",
    "aeilnstw",
    "acdefilnopstuvy",
    "abcdeilmopstu",
    "abcdefghiklmnoprstuvy",
    "abcdefgiklmnoprstuvwx",
    "acdefhikloprstuy",
    "u",
    "abcdefgiklmnoprstuvwy",
    "abcdefghiklmnopqrstuwy",
    "abcdefhilmnoprstuwy",
    "abcdefgilmnoprst",
    "aeio",
    "aehinors",
    "acdefipt",
    "deilmnopst",
    "aeio",
];

/// A word may have a pair that others have not, for so many letters.
const LETTERS_FOR_A_RARE_PAIR: usize = 8;

const OF_LETTER: f64 = 4.7;
/// Where large and small ones are mixed.
const OF_CASE: f64 = 1.0;
/// Of two letters nobody can see whether they are a word.
const OF_LETTER_IN_PAIR: f64 = 2.0;
const OF_DIGIT: f64 = 3.3;
/// Most numbers are dates, sizes and ports.
const OF_NUMBER: f64 = 7.0;
const OF_MARK: f64 = 3.0;
const OF_SEQUENCE: f64 = 6.0;

const ROWS: [&[u8]; 3] = [b"qwertyuiop", b"asdfghjkl", b"zxcvbnm"];

/// Of the part that has most.
pub(super) fn unguessable_bits(text: &[u8]) -> f64 {
    let parts = text.split(|byte| b"_-./:,\\".contains(byte));
    parts.map(of_part).fold(0.0, f64::max)
}

fn of_part(part: &[u8]) -> f64 {
    let is_mixed = part.iter().any(u8::is_ascii_lowercase) && part.iter().any(u8::is_ascii_uppercase);
    let case = if is_mixed { OF_CASE } else { 0.0 };
    let (left, sequences) = without_sequences(part);
    let mut bits = sequences as f64 * OF_SEQUENCE;
    for run in left.iter().flat_map(|stretch| runs(stretch)) {
        let length = run.len() as f64;
        bits += match run.first() {
            Some(byte) if byte.is_ascii_digit() => (length * OF_DIGIT).min(OF_NUMBER),
            Some(byte) if !byte.is_ascii_alphabetic() => length * OF_MARK,
            _ if run.len() > 2 && is_word(run) => 0.0,
            _ if run.len() == 2 && is_word(run) => length * OF_LETTER_IN_PAIR,
            _ => length * (OF_LETTER + case),
        };
    }
    bits
}

/// Whether the letters follow each other as in words.
fn is_word(run: &[u8]) -> bool {
    let is_rare = |pair: &&[u8]| match **pair {
        [first, second] => {
            let row = usize::from(first.to_ascii_lowercase().wrapping_sub(b'a'));
            !FOLLOWING.get(row).is_some_and(|next| next.as_bytes().contains(&second.to_ascii_lowercase()))
        }
        _ => false,
    };
    run.windows(2).filter(is_rare).count() <= run.len() / LETTERS_FOR_A_RARE_PAIR
}

/// What is left beside `abcd`, `4321`, `xxxx`, `qwer` and `a1b2c3`, and how many such there are. Shorter ones are in words too.
fn without_sequences(part: &[u8]) -> (Vec<&[u8]>, usize) {
    let mut is_left = vec![true; part.len()];
    let mut sequences = 0;
    for (distance, shortest) in [(1, 3), (2, 4)] {
        let follows: Vec<bool> =
            part.iter().zip(part.iter().skip(distance)).map(|(one, next)| goes_on(*one, *next)).collect();
        let mut at = 0;
        for stretch in follows.chunk_by(|one, next| one == next) {
            let is_sequence = stretch.first() == Some(&true) && stretch.len() >= shortest;
            if let Some(places) = is_left.get_mut(at..at + stretch.len() + distance).filter(|_| is_sequence)
                && places.iter().any(|left| *left)
            {
                places.fill(false);
                sequences += 1;
            }
            at += stretch.len();
        }
    }
    let mut left = Vec::new();
    let mut at = 0;
    for stretch in is_left.chunk_by(|one, next| one == next) {
        left.extend(part.get(at..at + stretch.len()).filter(|_| stretch.first() == Some(&true)));
        at += stretch.len();
    }
    (left, sequences)
}

fn goes_on(one: u8, next: u8) -> bool {
    let (one, next) = (one.to_ascii_lowercase(), next.to_ascii_lowercase());
    let beside = |row: &&[u8]| row.windows(2).any(|pair| pair == [one, next] || pair == [next, one]);
    one == next
        || (one.is_ascii_alphanumeric() && next.is_ascii_alphanumeric() && one.abs_diff(next) == 1)
        || ROWS.iter().any(beside)
}

/// Letters as words in a name are written, digits, and marks: `parse`, `XML`, `Header`, `20`.
fn runs(part: &[u8]) -> Vec<&[u8]> {
    let class = |byte: u8| match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        _ => 3,
    };
    let mut runs = Vec::new();
    let mut start = 0;
    for end in 1..=part.len() {
        let at = |place: usize| part.get(place).copied().map(class);
        let (before, here, next) = (at(end - 1), at(end), at(end + 1));
        let is_end = match (before, here) {
            // The last of several large letters begins a word.
            (Some(2), Some(2)) => next == Some(1),
            (Some(2), Some(1)) => false,
            _ => before != here,
        };
        if is_end {
            runs.extend(part.get(start..end));
            start = end;
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_guessed_and_random_text_is_not() {
        for text in [
            "correct-horse-battery-staple",
            "StringLiteralToken2",
            "parseXMLHeader20",
            "sommer2024",
            "abcd1234",
            "a1b2c3d4e5",
            "qwertz123456",
            "xxxxxxxxxxxx",
            "2026-11-19",
            "test_password_file1",
            "x509v3",
            "swordfish",
        ] {
            assert!(
                unguessable_bits(text.as_bytes()) < 25.0,
                "{text}: {}",
                unguessable_bits(text.as_bytes())
            );
        }
        for parts in [["Xk9v", "P2mQ"], ["RV5If", "LBcbf"], ["Y7sUMuC", "zuzee6u"], ["Zq8vT2m", "Lx0RbPw"]] {
            let text = parts.concat();
            assert!(
                unguessable_bits(text.as_bytes()) > 30.0,
                "{text}: {}",
                unguessable_bits(text.as_bytes())
            );
        }
    }

    #[test]
    fn a_name_is_read_in_its_words() {
        let read = |text: &'static str| -> Vec<String> {
            runs(text.as_bytes()).into_iter().map(|run| String::from_utf8_lossy(run).into_owned()).collect()
        };
        assert_eq!(read("parseXMLHeader20"), ["parse", "XML", "Header", "20"]);
        assert_eq!(read("aB!!c"), ["a", "B", "!!", "c"]);
    }
}
