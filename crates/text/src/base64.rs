//! Bytes as base64, for what stands in a page itself: pictures, and the hashes of a content security policy.

/// With padding, on one line.
pub fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number = three
            .iter()
            .enumerate()
            .fold(0_u32, |sum, (place, byte)| sum | u32::from(*byte) << (16 - 8 * place));
        for place in 0..4 {
            let digit = DIGITS.get((number >> (18 - 6 * place)) as usize & 63).copied().unwrap_or(b'=');
            text.push(if place <= three.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

/// The bytes of a text with its padding; `None` if it is not base64.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let digits = text.trim_end_matches('=');
    if !text.len().is_multiple_of(4) || text.len() - digits.len() > 2 {
        return None;
    }
    for four in digits.as_bytes().chunks(4) {
        let mut number = 0_u32;
        for (place, digit) in four.iter().enumerate() {
            let value = match digit {
                b'A'..=b'Z' => digit - b'A',
                b'a'..=b'z' => digit - b'a' + 26,
                b'0'..=b'9' => digit - b'0' + 52,
                b'+' => 62,
                b'/' => 63,
                _ => return None,
            };
            number |= u32::from(value) << (18 - 6 * place);
        }
        // The highest of the four bytes is empty; of those after it as many are whole as there are digits before the last.
        bytes.extend(number.to_be_bytes().iter().skip(1).take(four.len() - 1));
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{base64, from_base64};

    /// RFC 4648, section 10.
    #[test]
    fn the_vectors_of_the_standard() {
        let vectors = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let expected = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        assert_eq!(vectors.map(|text| base64(text.as_bytes())), expected);
        assert_eq!(base64(&[0xfb, 0xff, 0xbf]), "+/+/");
        let back = expected.map(|text| String::from_utf8(from_base64(text).unwrap()).unwrap());
        assert_eq!(back, vectors);
        assert_eq!(["Zg", "Zg=", "Z===", "Zm9*"].map(from_base64), [None, None, None, None]);
    }
}
