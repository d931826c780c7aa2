//! Takes out of a text what differs from run to run, so that the rest can be compared whole.

use std::sync::LazyLock;

use regex::{Captures, Regex};

/// Each kind has a name, which stands in its place.
const VARYING: &str = concat!(
    // A folder that `tempfile` has made, with all that leads to it.
    r"(?<folder>(?:/[\w.+-]+)*/\.tmp[[:alnum:]]{6}\b)",
    r"|(?<time>\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d| UTC)?)",
    // Named after the time at which it was made.
    r"|(?<id>\b\d{8}[-T]\d{6}(?:\.\d{3})?Z?(?:-[0-9a-f]+)?\b)",
    // Where a server of a test listens.
    r"|(?<server>\b127\.0\.0\.1:\d+)",
    // The sessions of tests have fixed names, which stay.
    r"|\b[[:xdigit:]]{8}-[[:xdigit:]]{4}-[[:xdigit:]]{4}-[[:xdigit:]]{4}-[[:xdigit:]]{12}\b",
    // Names that git gives, whole or shortened.
    r"|(?<hash>\b[0-9a-f]{7,64}\b)",
);

/// The text without the names of temporary folders, times and ids.
pub fn redacted(text: impl AsRef<str>) -> String {
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| Regex::new(VARYING).unwrap());
    let kinds = ["folder", "time", "id", "server", "hash"];
    let instead = |found: &Captures<'_>| {
        let kind = kinds.into_iter().find(|kind| found.name(kind).is_some());
        kind.map_or_else(|| found[0].to_owned(), |kind| format!("[{kind}]"))
    };
    PATTERN.replace_all(text.as_ref(), instead).into_owned()
}

/// The same without times that were measured: `1.2 s`, and the log's list of what took how long.
pub fn without_durations(text: impl AsRef<str>) -> String {
    static LIST: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\b(?:git )?start \d[\d.a-z\s]*= [\d.]+ ms").unwrap());
    static DURATION: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\b\d+(?:\.\d+)? ?(?:ms|µs|s|min|h)\b").unwrap());
    let text = redacted(text);
    DURATION.replace_all(&LIST.replace_all(&text, "[timings]"), "[duration]").into_owned()
}
