//! A number of bytes as people read it.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        for (bytes, text) in
            [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (5 << 20, "5.0 MiB"), (3 << 40, "3072.0 GiB")]
        {
            assert_eq!(size_in_words(bytes), text);
        }
    }
}
