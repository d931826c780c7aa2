//! A number of bytes as people read and write it.

/// `512 B`, `1.5 KiB`, `5.0 MiB`.
pub fn size_in_words(bytes: u64) -> String {
    let in_units = |power: i32| bytes as f64 / 1024_f64.powi(power);
    match bytes {
        0..=0x3ff => format!("{bytes} B"),
        0x400..=0xf_ffff => format!("{:.1} KiB", in_units(1)),
        0x10_0000..=0x3fff_ffff => format!("{:.1} MiB", in_units(2)),
        _ => format!("{:.1} GiB", in_units(3)),
    }
}

/// A number of bytes: `1000`, `512K`, `64M`, `1G` (powers of 1,024), never 0.
pub fn parse_size(text: &str) -> Option<u64> {
    let upper = text.trim().to_ascii_uppercase();
    let upper = upper.strip_suffix("IB").or_else(|| upper.strip_suffix('B')).unwrap_or(&upper);
    let units = [('K', 1 << 10), ('M', 1 << 20), ('G', 1 << 30)];
    let in_unit = units.iter().find_map(|(unit, factor)| Some((upper.strip_suffix(*unit)?, *factor)));
    let (digits, factor) = in_unit.unwrap_or((upper, 1));
    digits.trim().parse::<u64>().ok()?.checked_mul(factor).filter(|size| *size > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, size) in
            [("1", 1), ("512K", 512 << 10), ("64MiB", 64 << 20), ("1gb", 1 << 30), (" 2 M ", 2 << 20)]
        {
            assert_eq!(parse_size(text), Some(size), "{text}");
        }
        for text in ["", "0", "-1", "x", "1T", "99999999999G"] {
            assert_eq!(parse_size(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_read_well() {
        for (bytes, text) in
            [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 20, "5.0 MiB"), (3 << 40, "3072.0 GiB")]
        {
            assert_eq!(size_in_words(bytes), text);
        }
    }
}
