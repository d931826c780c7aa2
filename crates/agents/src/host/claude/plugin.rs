//! Our plugin in Claude Code, which brings the hooks along.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::host::HostPackage;

pub(super) const PLUGIN: HostPackage = HostPackage {
    kind: "plugin",
    variable: "CLAUDE_PLUGIN_ROOT",
    is_unpacked_folder: false,
    has_hooks_beside: false,
    is_enabled,
    is_installed: |_| false,
    // The client itself knows best from which folder it runs a plugin: for a local marketplace it is not the copy.
    list: Some(&["plugin", "list", "--json"]),
    listed,
    folders,
};

fn is_enabled(settings: &Value) -> bool {
    let plugins = settings.get("enabledPlugins").and_then(Value::as_object);
    plugins
        .into_iter()
        .flatten()
        .any(|(name, on)| name.starts_with("checkstone@") && on == &Value::Bool(true))
}

fn listed(plugins: &Value) -> Vec<PathBuf> {
    let is_ours = |plugin: &&Value| {
        plugin.get("id").and_then(Value::as_str).is_some_and(is_package)
            && plugin.get("enabled").and_then(Value::as_bool) != Some(false)
    };
    let folder = |plugin: &Value| text(plugin, "readFromFolder").or_else(|| text(plugin, "installPath"));
    plugins.as_array().into_iter().flatten().filter(is_ours).filter_map(folder).collect()
}

fn folders(folder: &Path, _: Option<&Path>) -> Vec<PathBuf> {
    let Ok(bytes) = fs_err::read(folder.join("plugins/installed_plugins.json")) else { return Vec::new() };
    let installed: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let plugins = installed.get("plugins").and_then(Value::as_object).into_iter().flatten();
    let entries = plugins.filter(|(name, _)| is_package(name)).filter_map(|(_, entries)| entries.as_array());
    entries.flatten().filter_map(|entry| text(entry, "installPath")).collect()
}

fn text(plugin: &Value, name: &str) -> Option<PathBuf> {
    plugin.get(name).and_then(Value::as_str).map(PathBuf::from)
}

/// `checkstone@some-marketplace`, or the bare name.
fn is_package(id: &str) -> bool {
    id.split('@').next() == Some("checkstone")
}
