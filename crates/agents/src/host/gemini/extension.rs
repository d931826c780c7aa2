//! Our extension in Gemini CLI, which brings the hooks along.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::host::HostPackage;

pub(super) const EXTENSION: HostPackage = HostPackage {
    kind: "extension",
    variable: "extensionPath",
    is_unpacked_folder: true,
    has_hooks_beside: false,
    is_enabled: |_| false,
    is_installed: |folder| {
        let extension = folder.join("extensions/checkstone");
        [MANIFEST, NOTE].iter().any(|file| extension.join(file).is_file())
    },
    list: None,
    listed: |_| Vec::new(),
    folders,
};

const MANIFEST: &str = "gemini-extension.json";

/// What `gemini extensions link` leaves: only a note of where the extension is.
const NOTE: &str = ".gemini-extension-install.json";

fn folders(folder: &Path, repository: Option<&Path>) -> Vec<PathBuf> {
    let extension = folder.join("extensions/checkstone");
    match extension.is_dir() && is_on(folder, repository) {
        true => vec![linked(&extension).unwrap_or(extension)],
        false => Vec::new(),
    }
}

fn linked(extension: &Path) -> Option<PathBuf> {
    let bytes = fs_err::read(extension.join(NOTE)).ok()?;
    let note: Value = serde_json::from_slice(&bytes).ok()?;
    let is_link = note.get("type").and_then(Value::as_str) == Some("link");
    note.get("source").and_then(Value::as_str).filter(|_| is_link).map(PathBuf::from)
}

/// The last rule that fits the repository decides, or the home where there is none; without any the extension is on.
fn is_on(folder: &Path, repository: Option<&Path>) -> bool {
    let Ok(bytes) = fs_err::read(folder.join("extensions/extension-enablement.json")) else { return true };
    let rules: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let rules =
        rules.get("checkstone").and_then(|own| own.get("overrides")).and_then(Value::as_array).cloned();
    let here = repository.or_else(|| folder.parent()).map(|here| format!("{}/", here.to_string_lossy()));
    let here = here.unwrap_or_default();
    let mut is_on = true;
    for rule in rules.iter().flatten().filter_map(Value::as_str) {
        let (off, pattern) = rule.strip_prefix('!').map_or((false, rule), |pattern| (true, pattern));
        let fits = match pattern.strip_suffix('*') {
            Some(folder) => here.starts_with(folder),
            None => here.trim_end_matches('/') == pattern.trim_end_matches('/'),
        };
        if fits {
            is_on = !off;
        }
    }
    is_on
}
