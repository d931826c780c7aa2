//! Whether a text of the right shape is a secret: checksums where a token has one, and otherwise how random it is and
//! whether it is only an example. Each check gets the whole match and the secret in it.

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

fn base64(text: &[u8]) -> Option<Vec<u8>> {
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
    !is_here && !is_user && !is_placeholder(password) && password.len() >= 6
}

/// A value that a name beside it calls a password, key or token: random enough, and no word, path, hash or id.
pub(super) fn assigned(whole: &[u8], secret: &[u8]) -> bool {
    const OTHER: &str = "hash sha1 sha256 sha512 checksum digest integrity fingerprint public commit etag \
        uuid pattern regex";
    let name = whole.get(..whole.len().saturating_sub(secret.len())).unwrap_or_default().to_ascii_lowercase();
    if has_word(&name, OTHER) {
        return false;
    }
    let has = |is: fn(&u8) -> bool| secret.iter().any(is);
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    // Words joined by dashes, dots or slashes are names; what is random has long parts of letters and digits.
    let longest = secret.split(|byte| !byte.is_ascii_alphanumeric()).map(<[u8]>::len).max().unwrap_or(0);
    let marks = secret.iter().filter(|byte| b"!@#$%^&*?+=~|;".contains(byte)).count();
    let is_password = marks >= 2 && has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase);
    let is_hex = secret.iter().all(u8::is_ascii_hexdigit);
    let enough = if is_hex { 3.0 } else { 3.5 };
    let long_enough = if is_hex { secret.len() >= 32 } else { longest >= 12 || is_password };
    is_mixed
        && long_enough
        && entropy(secret) >= enough
        && switches(secret) >= 3
        && !is_words(secret)
        && !is_uuid(secret)
        && !is_placeholder(secret)
}

/// How often letters and digits, or small and large letters, take turns: seldom in words, often in random text.
fn switches(text: &[u8]) -> usize {
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

/// What people write where the secret would be.
fn is_placeholder(secret: &[u8]) -> bool {
    const WORDS: &str = "example placeholder changeme change-me change_me your dummy sample redacted xxxx \
        **** .... < ${ {{ $( %( process.env os.environ insert notasecret hunter2 \
        0123456789 1234567890 abcdefghijkl 9876543210";
    const WHOLE: &str = "password passwd pass secret token root admin postgres guest user test pwd";
    let small = secret.to_ascii_lowercase();
    has_word(&small, WORDS)
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
    entropy(letters.get(..letters.len().min(120)).unwrap_or_default()) >= 3.5 && !is_placeholder(body)
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
