//! The presets, compiled in: real policy files of the same shape as a repository's own.

/// Every preset by its name.
pub const PRESETS: &[(&str, &str)] = &[
    ("docs", include_str!("../../presets/docs.toml")),
    ("go", include_str!("../../presets/go.toml")),
    ("make", include_str!("../../presets/make.toml")),
    ("node", include_str!("../../presets/node.toml")),
    ("python", include_str!("../../presets/python.toml")),
    ("rust", include_str!("../../presets/rust.toml")),
    ("teleclaude", include_str!("../../presets/teleclaude.toml")),
];

pub(crate) fn text(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
