//! A number of bytes as it is given on the command line.

/// A number of bytes: `1000`, `512K`, `64M`, `1G` (powers of 1,024).
pub(crate) fn byte_size(text: &str) -> Result<u64, String> {
    let upper = text.trim().to_ascii_uppercase();
    let upper = upper.strip_suffix("IB").or_else(|| upper.strip_suffix('B')).unwrap_or(&upper);
    let (digits, factor) = match upper.chars().next_back() {
        Some('K') => (upper.strip_suffix('K'), 1 << 10),
        Some('M') => (upper.strip_suffix('M'), 1 << 20),
        Some('G') => (upper.strip_suffix('G'), 1 << 30),
        _ => (Some(upper), 1),
    };
    let size = digits.and_then(|digits| digits.trim().parse::<u64>().ok()?.checked_mul(factor));
    match size {
        Some(size) if size > 0 => Ok(size),
        _ => Err("expected a size such as `512K`, `64M` or `1G`".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, size) in
            [("1", 1), ("512K", 512 << 10), ("64MiB", 64 << 20), ("1gb", 1 << 30), (" 2 M ", 2 << 20)]
        {
            assert_eq!(byte_size(text), Ok(size), "{text}");
        }
        for text in ["", "0", "-1", "x", "1T", "99999999999G"] {
            assert!(byte_size(text).is_err(), "{text}");
        }
    }
}
