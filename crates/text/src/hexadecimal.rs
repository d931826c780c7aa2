//! Bytes as hexadecimal digits, and back.

/// Two lower-case digits for each byte.
pub fn hexadecimal(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().map_or('0', char::from);
    let mut text = String::with_capacity(2 * bytes.len());
    text.extend(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
    text
}

/// The bytes that the digits stand for, in either case; `None` if the text is anything else.
pub fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let value = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
    let pairs = text.as_bytes().chunks(2);
    pairs
        .map(|pair| if let [high, low] = pair { Some(value(*high)? << 4 | value(*low)?) } else { None })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_pairs_of_digits_are_hexadecimal() {
        assert_eq!(hexadecimal(&[0, 0x0f, 0xab]), "000fab");
        assert_eq!(from_hexadecimal("00Fa"), Some(vec![0, 0xfa]));
        assert_eq!(from_hexadecimal(""), Some(Vec::new()));
        for text in ["0", "0g", "+1", "0 ", "é", "abc"] {
            assert_eq!(from_hexadecimal(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn bytes_come_back(bytes: Vec<u8>) {
            prop_assert_eq!(from_hexadecimal(&hexadecimal(&bytes)), Some(bytes));
        }
    }
}
