//! Sizes and times as people read them, and texts that cannot become Markdown or HTML of their own.

use jiff::SignedDuration;

pub(super) fn duration(duration: SignedDuration) -> String {
    text::duration_in_words(duration.try_into().unwrap_or_default())
}

pub(super) fn size(bytes: u64) -> String {
    const STEP: f64 = 1024.0;
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut size = bytes as f64 / STEP;
    let mut units = ["KB", "MB", "GB"].iter();
    let mut unit = units.next();
    while size >= STEP {
        match units.next() {
            Some(larger) => (size, unit) = (size / STEP, Some(larger)),
            None => break,
        }
    }
    format!("{size:.1} {}", unit.copied().unwrap_or_default())
}

/// For HTML text and attributes alike. Control characters that no page may hold are shown as what they are.
pub(super) fn html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(letter),
            control if control.is_control() => escaped.extend(control.escape_unicode()),
            other => escaped.push(other),
        }
    }
    escaped
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
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            control if control.is_control() => escaped.push(' '),
            other => escaped.push(other),
        }
    }
    escaped
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
    fn durations_and_sizes_read_well() {
        // A clock that was set back in between makes no negative time.
        for (milliseconds, text) in [(-5, "0 ms"), (61_000, "1 min 1 s")] {
            assert_eq!(duration(SignedDuration::from_millis(milliseconds)), text);
        }
        for (bytes, text) in
            [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KB"), (5 << 20, "5.0 MB"), (3 << 40, "3072.0 GB")]
        {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn no_text_becomes_a_tag_a_row_or_a_sentinel() {
        assert_eq!(html("<script>\"'&\u{1b}"), "&lt;script&gt;&quot;&#39;&amp;\\u{1b}");
        assert_eq!(markdown("a|b\n<!-- x -->"), "a\\|b &lt;!-- x --&gt;");
        assert_eq!(markdown("S01_load_data [x](y)"), "S01_load_data \\[x\\](y)");
    }
}
