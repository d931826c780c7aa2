//! Texts cut to a length: by characters where people read them, by bytes where they are stored. Never inside a character.

/// The text in at most `most` characters. If it is longer, the last of them is `…`.
pub fn shortened(text: &str, most: usize) -> String {
    if first_characters(text, most).len() == text.len() {
        return text.to_owned();
    }
    let kept = first_characters(text, most.saturating_sub(1));
    if most == 0 { String::new() } else { format!("{kept}…") }
}

/// The text in at most `most` characters. If it is longer, a `…` stands for what is left out behind the first quarter.
pub fn shortened_inside(text: &str, most: usize) -> String {
    let length = text.chars().count();
    if length <= most {
        return text.to_owned();
    }
    let first = first_characters(text, most / 4);
    let left_out = first_characters(text, length - most.saturating_sub(most / 4 + 1));
    let last = text.get(left_out.len()..).unwrap_or_default();
    if most == 0 { String::new() } else { format!("{first}…{last}") }
}

/// The first `most` characters, without a mark: for texts whose reader does not care about the rest.
pub fn first_characters(text: &str, most: usize) -> &str {
    let end = text.char_indices().nth(most).map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

/// The first `bytes` of the text or a little less.
pub fn head(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// The last `bytes` of the text or a little less.
pub fn tail(text: &str, bytes: usize) -> &str {
    text.get(text.ceil_char_boundary(text.len().saturating_sub(bytes))..).unwrap_or(text)
}

/// The first `bytes` of the text or a little less, with `…` behind them if it is longer.
pub fn shortened_to_bytes(mut text: String, bytes: usize) -> String {
    if text.len() > bytes {
        text.truncate(text.floor_char_boundary(bytes));
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(["äöü", "äöüx", "äöüxy"].map(|text| shortened(text, 4)), ["äöü", "äöüx", "äöü…"]);
        assert_eq!([0, 1, 2].map(|most| shortened("abc", most)), ["", "…", "a…"]);
        assert_eq!(shortened("", 0), "");
        assert_eq!(
            [0, 1, 4, 8].map(|most| shortened_inside("äbcdefghi", most)),
            ["", "…", "ä…hi", "äb…efghi"]
        );
        assert_eq!(["äö", "äöü"].map(|text| shortened_to_bytes(text.to_owned(), 5)), ["äö", "äö…"]);
        assert_eq!((first_characters("äöü", 2), head("äöü", 3), tail("äöü", 3)), ("äö", "ä", "ü"));
    }

    proptest! {
        #[test]
        fn nothing_gets_longer_than_asked(text in "\\PC{0,40}", most in 0_usize..50) {
            let short = shortened(&text, most);
            prop_assert!(short.chars().count() <= most);
            prop_assert_eq!(text.chars().count() <= most, short == text);
            prop_assert!(text.starts_with(short.strip_suffix('…').unwrap_or(&short)));
            let inside = shortened_inside(&text, most);
            prop_assert_eq!(inside.chars().count(), most.min(text.chars().count()));
            prop_assert!(text.starts_with(head(&text, most)) && head(&text, most).len() <= most);
            prop_assert!(text.ends_with(tail(&text, most)) && tail(&text, most).len() <= most);
            prop_assert!(most < text.len() || (head(&text, most), tail(&text, most)) == (text.as_str(), text.as_str()));
        }
    }
}
