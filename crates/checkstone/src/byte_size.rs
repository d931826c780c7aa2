//! A number of bytes as it is given on the command line.

use crate::error::CommandError;

/// A number of bytes: `1000`, `512K`, `64M`, `1G` (powers of 1,024).
pub(crate) fn byte_size(text: &str) -> Result<u64, CommandError> {
    let upper = text.trim().to_ascii_uppercase();
    let upper = upper.strip_suffix("IB").or_else(|| upper.strip_suffix('B')).unwrap_or(&upper);
    let units = [('K', 1 << 10), ('M', 1 << 20), ('G', 1 << 30)];
    let in_unit = units.iter().find_map(|(unit, factor)| Some((upper.strip_suffix(*unit)?, *factor)));
    let (digits, factor) = in_unit.unwrap_or((upper, 1));
    match digits.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(factor)) {
        Some(size) if size > 0 => Ok(size),
        _ => Err(CommandError::usage("expected a size such as `512K`, `64M` or `1G`")),
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
            assert_eq!(byte_size(text).ok(), Some(size), "{text}");
        }
        for text in ["", "0", "-1", "x", "1T", "99999999999G"] {
            assert!(byte_size(text).is_err(), "{text}");
        }
    }
}
