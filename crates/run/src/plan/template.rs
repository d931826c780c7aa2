//! Plans to begin with, one for each kind of work. Each runs as it is.

/// Names and texts, with `{title}` where the title goes.
pub const KINDS: &[(&str, &str)] = &[
    ("pipeline", include_str!("template/pipeline.toml")),
    ("research", include_str!("template/research.toml")),
    ("load", include_str!("template/load.toml")),
    ("explore", include_str!("template/explore.toml")),
    ("train", include_str!("template/train.toml")),
    ("evaluate", include_str!("template/evaluate.toml")),
];

/// The plan of a kind under a title; `None` where there is no such kind.
pub fn template(kind: &str, title: &str) -> Option<String> {
    let (_, text) = KINDS.iter().find(|(name, _)| *name == kind)?;
    Some(text.replace("{title}", title))
}
