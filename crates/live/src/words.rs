//! Texts from outside, times and paths, as the page shows them.

use std::path::Path;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use maud::{Markup, Render, html};
use text::html_text;
use transcript::visible;

/// Text from outside: it stays text, and its control characters show.
pub(crate) struct Shown<'a>(pub(crate) &'a str);

impl Render for Shown<'_> {
    fn render_to(&self, buffer: &mut String) {
        for (number, line) in self.0.split('\n').enumerate() {
            if number > 0 {
                buffer.push('\n');
            }
            buffer.push_str(&html_text(&visible(line)));
        }
    }
}

/// On one line, cut to a length.
pub(crate) fn one_line(text: &str, longest: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    text::shortened(&words.join(" "), longest)
}

/// An instant: the script of the page turns it into "5 min ago", and keeps that true.
pub(crate) fn time(at: Timestamp, zone: &TimeZone) -> Markup {
    let local = at.to_zoned(zone.clone());
    html! {
        time datetime=(format!("{at:.0}")) title=(local.strftime("%Y-%m-%d %H:%M:%S").to_string()) {
            (local.strftime("%Y-%m-%d %H:%M").to_string())
        }
    }
}

/// A path below the user's home begins with `~`.
pub(crate) fn path(path: &Path, home: Option<&Path>) -> String {
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stays_text() {
        let shown = html! { p title=(Shown("\"'<&")) { (Shown("</p><script>\u{1b}[2J\u{202e}\nx")) } };
        assert_eq!(
            shown.into_string(),
            "<p title=\"&quot;&#39;&lt;&amp;\">&lt;/p&gt;&lt;script&gt;␛[2J\u{fffd}\nx</p>"
        );
    }

    #[test]
    fn a_path_below_home_is_short() {
        let home = Some(Path::new("/home/a"));
        let paths = ["/home/a/work", "/home/a", "/home/ab"].map(|one| path(Path::new(one), home));
        assert_eq!(paths, ["~/work", "~", "/home/ab"]);
    }
}
