//! What a manifest says of its package: its name, and whether it only lists other packages.

use serde_json::Value as Json;
use toml::Value as Toml;

/// A manifest, as far as it is asked.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Manifest {
    pub(super) name: Option<String>,
    pub(super) is_workspace: bool,
    pub(super) has_scripts: bool,
}

impl Manifest {
    pub(super) fn read(file_name: &str, text: &str) -> Self {
        let after = |mark: &str| {
            let rest = text.lines().find_map(|line| line.trim_start().strip_prefix(mark))?;
            Some(rest.split(['"', '\'', ',']).find(|part| !part.trim().is_empty())?.trim().to_owned())
        };
        match file_name {
            "package.json" | "composer.json" | "deno.json" => {
                let document: Json = serde_json::from_str(text).unwrap_or_default();
                let name = document.get("name").and_then(Json::as_str).map(str::to_owned);
                let has = |key: &str| document.get(key).is_some();
                Self { name, is_workspace: has("workspaces"), has_scripts: has("scripts") || has("tasks") }
            }
            "Cargo.toml" | "pyproject.toml" => {
                let document = Toml::Table(text.parse().unwrap_or_default());
                let name = |key: &str| Some(document.get(key)?.get("name")?.as_str()?.to_owned());
                // A package that is also the root of a workspace is tested alone.
                let is_workspace = document.get("workspace").is_some() && document.get("package").is_none();
                Self { name: name("package").or_else(|| name("project")), is_workspace, ..Self::default() }
            }
            "go.mod" => Self { name: after("module "), ..Self::default() },
            "pubspec.yaml" => Self { name: after("name:"), ..Self::default() },
            "mix.exs" => Self { name: after("app: :"), ..Self::default() },
            "Package.swift" => Self { name: after("name:"), ..Self::default() },
            _ => {
                let stem =
                    file_name.rsplit_once('.').filter(|(_, end)| end.ends_with("proj") || *end == "cabal");
                Self { name: stem.map(|(stem, _)| stem.to_owned()), ..Self::default() }
            }
        }
    }
}
