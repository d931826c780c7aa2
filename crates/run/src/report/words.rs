//! Times as people read them, links, and texts that cannot become Markdown of their own.

use jiff::SignedDuration;
use supervise::marker::Marker;

pub(super) fn duration(duration: SignedDuration) -> String {
    text::duration_in_words(duration.try_into().unwrap_or_default())
}

/// One line of Markdown text: nothing in it begins a row, a comment, a link or code.
pub(super) fn markdown(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' => {
                // Inside of words these two mean nothing, and names are full of them.
                if !(letter == '_' && escaped.ends_with(char::is_alphanumeric)) {
                    escaped.push('\\');
                }
                escaped.push(letter);
            }
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            control if control.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
}

/// One that a stage asked for on its way has the format's word for interrupts, and interrupted nothing.
pub(super) fn checkpoint_kind(status: &str, is_mid_stage: bool) -> &str {
    if is_mid_stage { "mid-stage" } else { status }
}

/// What a marker says besides its type, with its subtype in strong letters.
pub(super) fn said(marker: &Marker, escaped: fn(&str) -> String, strong: impl Fn(&str) -> String) -> String {
    let mut parts: Vec<String> = marker.subtype.iter().map(|name| strong(name)).collect();
    parts.extend(marker.attributes.iter().map(|(key, value)| match value.as_str() {
        "" => escaped(key),
        value => format!("{} = {}", escaped(key), escaped(value)),
    }));
    let text = escaped(&marker.text);
    match (parts.is_empty(), text.is_empty()) {
        (true, _) => text,
        (false, true) => parts.join(", "),
        (false, false) => format!("{}: {text}", parts.join(", ")),
    }
}

/// A path as the target of a link.
pub(super) fn link(path: &str) -> String {
    let mut link = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                link.push(char::from(byte));
            }
            other => link.push_str(&format!("%{other:02X}")),
        }
    }
    link
}

/// What stands between two backticks: on one line, and neither an end of the code nor a comment of its own.
pub(super) fn code(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '`' => shown.push('\''),
            control if control.is_control() => shown.extend(control.escape_unicode()),
            // Who reads the file by its sentinels knows nothing of code.
            '!' if shown.ends_with('<') => shown.push_str("\u{200b}!"),
            other => shown.push(other),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_well() {
        // A clock that was set back in between makes no negative time.
        for (milliseconds, text) in [(-5, "0 ms"), (61_000, "1 min 1 s")] {
            assert_eq!(duration(SignedDuration::from_millis(milliseconds)), text);
        }
    }

    #[test]
    fn no_text_becomes_a_row_or_a_sentinel() {
        assert_eq!(markdown("a|b\n<!-- x -->"), "a\\|b &lt;!-- x --&gt;");
        assert_eq!(markdown("S01_load_data [x](y)"), "S01_load_data \\[x\\](y)");
    }
}
