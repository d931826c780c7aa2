//! Whether a text of the right shape is a secret: checksums where a token has one, and otherwise how random it is and
//! whether it is only an example. Each check gets the whole match and the secret in it.

use super::assignment::{Assignment, Place};
use super::hidden_text::base64;
use super::secret_name::SecretName;
use super::unguessable::unguessable_bits;

pub(super) type Check = fn(&[u8], &[u8]) -> bool;

/// The shape alone is enough, unless somebody wrote it as an example.
pub(super) fn shape(_: &[u8], secret: &[u8]) -> bool {
    !is_placeholder(secret)
}

/// At least three bits a letter: less is `xxxx…` or `1234…`.
pub(super) fn random(_: &[u8], secret: &[u8]) -> bool {
    entropy(secret) >= 3.0 && !is_placeholder(secret)
}

/// GitHub's and npm's: six digits of base 62 at the end are the CRC-32 of what is between prefix and them.
pub(super) fn checksum(_: &[u8], secret: &[u8]) -> bool {
    let Some(body) = secret.iter().position(|byte| *byte == b'_').and_then(|at| secret.get(at + 1..)) else {
        return false;
    };
    let Some(cut) = body.len().checked_sub(6) else { return false };
    let (random, sum) = body.split_at(cut);
    sum == base62(crc32(random))
}

pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let mut sum = u32::MAX;
    for byte in bytes {
        sum ^= u32::from(*byte);
        for _ in 0..8 {
            sum = if sum & 1 == 1 { (sum >> 1) ^ 0xedb8_8320 } else { sum >> 1 };
        }
    }
    !sum
}

pub(super) fn base62(mut number: u32) -> [u8; 6] {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS.get((number % 62) as usize).copied().unwrap_or(b'0');
        number /= 62;
    }
    digits
}

/// A header that says how it was signed. The token of the standard's best-known web page is an example.
pub(super) fn web_token(_: &[u8], secret: &[u8]) -> bool {
    const EXAMPLE: &[u8] = b"SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJV_adQssw5c";
    let header = secret.split(|byte| *byte == b'.').next().unwrap_or_default();
    let Some(header) = base64(header) else { return false };
    memchr::memmem::find(&header, b"\"alg\"").is_some() && !secret.ends_with(EXAMPLE)
}

/// `scheme://user:password@host`: a password that is one, for a host that others can reach.
pub(super) fn password_in_url(whole: &[u8], password: &[u8]) -> bool {
    const HERE: &str = "localhost 127.0.0.1 0.0.0.0 [::1] db host hostname database postgres mysql redis \
        mongo";
    let text = String::from_utf8_lossy(whole).to_lowercase();
    let host = text.rsplit('@').next().unwrap_or_default();
    let host = host.split([':', '/', '?']).next().unwrap_or_default();
    let user = text.split("://").nth(1).and_then(|rest| rest.split(':').next()).unwrap_or_default();
    let is_example = host.contains("example.") || host.ends_with(".test") || host.ends_with(".invalid");
    let is_here = HERE.split(' ').any(|here| here == host) || is_example || !host.contains('.');
    let is_user = password.eq_ignore_ascii_case(user.as_bytes());
    // Of a database on one's own machine, only one that nobody would type.
    let is_open =
        is_here && !is_random(password) && !is_marked(password, SecretName::Password, Place::Sentence);
    !is_open && !is_user && !is_placeholder(password) && password.len() >= 6
}

/// What is given to a program as a password.
pub(super) fn given(_: &[u8], password: &[u8]) -> bool {
    let is_reference = password.starts_with(b"$");
    !is_reference
        && (is_random(password)
            || is_chosen(password)
            || is_marked(password, SecretName::Password, Place::Bare))
}

/// `https://TOKEN@host`. What a client reports errors to with is shown to everybody.
pub(super) fn user_in_url(whole: &[u8], user: &[u8]) -> bool {
    let host = whole.rsplit(|byte| *byte == b'@').next().unwrap_or_default().to_ascii_lowercase();
    is_random(user) && memchr::memmem::find(&host, b"sentry").is_none()
}

/// A value that stands where a secret stands, and looks like one.
pub(super) fn assigned(assignment: &Assignment<'_>) -> bool {
    let Assignment { name, place, value, .. } = *assignment;
    let is_url = memchr::memmem::find(value, b"://").is_some();
    // `settings.api.token2` is an expression, not a text.
    let is_of_names = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    let is_dotted = place != Place::Quoted && value.contains(&b'.') && value.iter().all(is_of_names);
    // So are patterns, templates and texts with escapes in them.
    let is_pattern = [b"[]", b"{}", b"()"].iter().any(|pair| pair.iter().all(|sign| value.contains(sign)));
    if is_url || is_pattern || value.contains(&b'\\') || (is_dotted && longest_part(value) < 20) {
        return false;
    }
    match name {
        SecretName::Perhaps => is_random(value) && longest_part(value) >= 20,
        SecretName::Token if place == Place::Sentence => is_random(value) && value.len() >= 16,
        SecretName::Token => is_random(value) || is_chosen(value) || is_marked(value, name, place),
        SecretName::Password => {
            is_random(value) || is_chosen(value) || is_shuffled(value) || is_marked(value, name, place)
        }
    }
}

/// Less has to be unguessable of a value if a name marks it as a secret: less of a password, which people choose, than
/// of a token, a name that parsers use too; and less in quotes than where it may be an expression or a sentence.
fn is_marked(value: &[u8], name: SecretName, place: Place) -> bool {
    let (least, of_letters) = match (name, place) {
        (SecretName::Password, Place::Quoted) => (25.0, 45.0),
        (SecretName::Password, Place::Bare) => (30.0, 55.0),
        (SecretName::Password, Place::Sentence) => (40.0, 70.0),
        (SecretName::Token, Place::Quoted) => (45.0, 70.0),
        (SecretName::Token, Place::Bare) => (50.0, 80.0),
        (SecretName::Token, Place::Sentence) | (SecretName::Perhaps, _) => return false,
    };
    let is_reference = value.first().is_some_and(|byte| b"$%<{&*@".contains(byte));
    let least = if value.iter().any(u8::is_ascii_digit) { least } else { of_letters };
    (8..=256).contains(&value.len())
        && value.iter().all(u8::is_ascii_graphic)
        && value.iter().any(u8::is_ascii_alphabetic)
        && !is_reference
        && !is_placeholder(value)
        // Names of secrets are listed one after the other.
        && SecretName::of(value).is_none()
        && entropy(value) >= 2.3
        && (unguessable_bits(value) >= least || (is_uuid(value) && entropy(value) >= 3.0))
}

/// Random enough, and no word, path, hash or id.
fn is_random(text: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| text.iter().any(is);
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    // Words joined by dashes, dots or slashes are names; what is random has long parts of letters and digits.
    let marks = text.iter().filter(|byte| b"!@#$%^&*?+=~|;".contains(byte)).count();
    let is_password = marks >= 2 && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    let is_hex = text.iter().all(u8::is_ascii_hexdigit);
    let enough = if is_hex { 3.0 } else { 3.5 };
    let long_enough = if is_hex { text.len() >= 32 } else { longest_part(text) >= 12 || is_password };
    is_mixed
        && text.len() >= 12
        && long_enough
        && entropy(text) >= enough
        && switches(text) >= 3
        && !is_words(text)
        && !is_uuid(text)
        && !is_placeholder(text)
}

/// A password as people make them: words with letters of both sizes, digits and marks.
fn is_chosen(text: &[u8]) -> bool {
    let has = |is: fn(&u8) -> bool| text.iter().any(is);
    let has_mark = has(|byte| b"!@#$%^&*?+=~".contains(byte));
    let is_printed = text.iter().all(u8::is_ascii_graphic);
    (8..=64).contains(&text.len())
        && is_printed
        && [u8::is_ascii_digit, u8::is_ascii_uppercase, u8::is_ascii_lowercase].into_iter().all(has)
        && has_mark
        && !is_placeholder(text)
}

/// Letters of both sizes in no order, digits and marks or not: what a machine makes if it is asked for a password.
fn is_shuffled(text: &[u8]) -> bool {
    (12..=64).contains(&text.len())
        && text.iter().all(u8::is_ascii_graphic)
        && text.iter().any(u8::is_ascii_uppercase)
        && text.iter().any(u8::is_ascii_lowercase)
        && switches(text) * 2 >= text.len()
        && entropy(text) >= 3.3
        && !is_placeholder(text)
}

fn longest_part(text: &[u8]) -> usize {
    text.split(|byte| !byte.is_ascii_alphanumeric()).map(<[u8]>::len).max().unwrap_or(0)
}

/// How often letters and digits, or small and large letters, take turns: seldom in words, often in random text.
pub(super) fn switches(text: &[u8]) -> usize {
    let class = |byte: &u8| match byte {
        b'0'..=b'9' => 0,
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        _ => 3,
    };
    text.windows(2).filter(|pair| pair.first().map(class) != pair.last().map(class)).count()
}

/// Mostly words, written together: `StringLiteralToken2`.
fn is_words(text: &[u8]) -> bool {
    let runs = |is: fn(&u8) -> bool| -> Vec<usize> {
        text.split(|byte| !is(byte)).map(<[u8]>::len).filter(|length| *length > 0).collect()
    };
    let in_words: usize = runs(u8::is_ascii_lowercase).into_iter().filter(|length| *length >= 4).sum();
    in_words * 2 > text.len() && runs(u8::is_ascii_digit).len() <= 1
}

fn is_uuid(text: &[u8]) -> bool {
    let parts: Vec<&[u8]> = text.split(|byte| *byte == b'-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [8, 4, 4, 4, 12] && parts.iter().all(|part| part.iter().all(u8::is_ascii_hexdigit))
}

/// What people write where the secret would be. Short words may occur in random text by chance: they count only as words.
fn is_placeholder(secret: &[u8]) -> bool {
    const ANYWHERE: &str = "example placeholder changeme change-me change_me sample redacted **** .... < ${ {{ $( %( \
        process.env os.environ insert notasecret hunter2 0123456789 1234567890 9876543210 abcdefgh";
    const AS_WORDS: &str = "your dummy xxxx fake foobar";
    const WHOLE: &str = "password passwd pass secret token root admin postgres guest user test pwd";
    let small = secret.to_ascii_lowercase();
    let is_word = |word: &str| {
        memchr::memmem::find_iter(&small, word.as_bytes())
            .any(|at| at == 0 || small.get(at - 1).is_some_and(|before| !before.is_ascii_alphanumeric()))
    };
    has_word(&small, ANYWHERE)
        || AS_WORDS.split(' ').any(is_word)
        || WHOLE.split(' ').any(|word| word.as_bytes() == small)
        || small.iter().all(|byte| Some(byte) == small.first())
}

/// Whether one of the words, with spaces between them, is in the text.
fn has_word(text: &[u8], words: &str) -> bool {
    words.split(' ').any(|word| memchr::memmem::find(text, word.as_bytes()).is_some())
}

/// Bits a letter, by how often each occurs.
pub(super) fn entropy(text: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in text {
        if let Some(count) = counts.get_mut(usize::from(*byte)) {
            *count += 1;
        }
    }
    let length = text.len() as f64;
    let part = |count: u32| {
        let share = f64::from(count) / length;
        -share * share.log2()
    };
    counts.into_iter().filter(|count| *count > 0).map(part).sum()
}

/// A key of which there is something between its first and last line.
pub(super) fn key_block(whole: &[u8], _: &[u8]) -> bool {
    let Some(start) = memchr::memmem::find(whole, b"KEY") else { return false };
    let body = whole.get(start..).unwrap_or_default();
    let letters: Vec<u8> = body.iter().copied().filter(u8::is_ascii_alphanumeric).collect();
    // No words are looked for in it: any can occur in a key, and what is written for show is not random.
    entropy(letters.get(..letters.len().min(120)).unwrap_or_default()) >= 3.5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_usual_one() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(&base62(61), b"00000z");
    }

    #[test]
    fn randomness_is_measured() {
        assert!(entropy(b"aaaaaaaa") < 0.1);
        assert!((entropy(b"abcd") - 2.0).abs() < 0.01);
        assert_eq!(entropy(b""), 0.0);
    }
}
