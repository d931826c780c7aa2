//! Numbers with the digits that people compare.

/// A number in the digits that people compare; any other text as it is.
pub fn shortened_number(text: &str) -> String {
    const DIGITS: i32 = 6;
    let is_long = text.len() > 8 && text.contains(['.', 'e']);
    match text.parse::<f64>() {
        Ok(value) if is_long && value != 0.0 && value.is_finite() => {
            let magnitude = value.abs().log10().floor() as i32;
            if !(-4..12).contains(&magnitude) {
                return format!("{value:.3e}");
            }
            let decimals = usize::try_from(DIGITS - 1 - magnitude).unwrap_or(0);
            let short = format!("{value:.decimals$}");
            match short.contains('.') {
                true => short.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => short,
            }
        }
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_people_compare() {
        for (text, short) in [
            ("0.8733333333333333", "0.873333"),
            ("12", "12"),
            ("0.25", "0.25"),
            ("1234567.8912", "1234568"),
            ("0.000000123456", "1.235e-7"),
            ("-99.50000000001", "-99.5"),
            ("2026.11.16.1", "2026.11.16.1"),
            ("123456789012", "123456789012"),
        ] {
            assert_eq!(shortened_number(text), short);
        }
    }
}
