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

#[cfg(test)]
mod tests {
    use super::base64;

    /// RFC 4648, section 10.
    #[test]
    fn the_vectors_of_the_standard() {
        let vectors = ["", "f", "fo", "foo", "foob", "fooba", "foobar"];
        let expected = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        assert_eq!(vectors.map(|text| base64(text.as_bytes())), expected);
        assert_eq!(base64(&[0xfb, 0xff, 0xbf]), "+/+/");
    }
}
