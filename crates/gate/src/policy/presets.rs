//! The presets, compiled in: real policy files of the same shape as a repository's own.

/// Every preset by its name.
pub const PRESETS: &[(&str, &str)] = &[
    ("c", include_str!("../../presets/c.toml")),
    ("dart", include_str!("../../presets/dart.toml")),
    ("docs", include_str!("../../presets/docs.toml")),
    ("dotnet", include_str!("../../presets/dotnet.toml")),
    ("elixir", include_str!("../../presets/elixir.toml")),
    ("go", include_str!("../../presets/go.toml")),
    ("java", include_str!("../../presets/java.toml")),
    ("make", include_str!("../../presets/make.toml")),
    ("node", include_str!("../../presets/node.toml")),
    ("php", include_str!("../../presets/php.toml")),
    ("python", include_str!("../../presets/python.toml")),
    ("ruby", include_str!("../../presets/ruby.toml")),
    ("rust", include_str!("../../presets/rust.toml")),
    ("shell", include_str!("../../presets/shell.toml")),
    ("swift", include_str!("../../presets/swift.toml")),
    ("teleclaude", include_str!("../../presets/teleclaude.toml")),
];

pub(crate) fn text(name: &str) -> Option<&'static str> {
    PRESETS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
