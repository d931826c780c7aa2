//! What the program is made of, as a CycloneDX document: every crate that is linked into it, with licence and checksum, and which of them
//! needs which. Asked of cargo and of `Cargo.lock`; no times and no random ids, so that the same sources give the same document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{DESCRIPTION, LICENSE, VERSION};
use crate::process::{self, cargo_command};
use crate::root;

pub(crate) fn file(target: &str) -> String {
    format!("checkstone-{VERSION}-{target}.cdx.json")
}

pub(crate) fn make(target: &str) -> Result<Vec<u8>, String> {
    let crates = linked_crates(target)?;
    let edges = edges(target)?;
    let checksums = checksums()?;
    let own = format!("pkg:cargo/checkstone@{VERSION}");
    let components: Vec<Value> = crates
        .iter()
        .filter(|(package, _)| package.name != "checkstone")
        .map(|(package, license)| {
            let mut component = json!({
                "type": "library",
                "bom-ref": package.url(),
                "name": package.name,
                "version": package.version,
                "purl": package.url(),
            });
            if let Some(fields) = component.as_object_mut() {
                if !license.is_empty() {
                    // Older crates write it with a slash.
                    let license = license.replace('/', " OR ").replace("  ", " ");
                    fields.insert("licenses".to_owned(), json!([{"expression": license}]));
                }
                if let Some(sum) = checksums.get(package) {
                    fields.insert("hashes".to_owned(), json!([{"alg": "SHA-256", "content": sum}]));
                }
            }
            component
        })
        .collect();
    let dependencies: Vec<Value> = crates
        .keys()
        .map(|package| {
            let needs = edges.get(package).into_iter().flatten().filter(|needed| crates.contains_key(needed));
            json!({"ref": package.url(), "dependsOn": needs.map(CratePackage::url).collect::<Vec<_>>()})
        })
        .collect();
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {
            "type": "application",
            "bom-ref": own,
            "name": "checkstone",
            "version": VERSION,
            "description": DESCRIPTION,
            "licenses": [{"expression": LICENSE}],
            "purl": own,
        }},
        "components": components,
        "dependencies": dependencies,
    });
    let text = serde_json::to_string_pretty(&document).map_err(|error| error.to_string())?;
    Ok((text + "\n").into_bytes())
}

#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct CratePackage {
    name: String,
    version: String,
}

impl CratePackage {
    fn url(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }
}

/// What the program links with all that packages have, and the licence of each.
fn linked_crates(target: &str) -> Result<BTreeMap<CratePackage, String>, String> {
    let mut tree = cargo_command();
    tree.args(["tree", "--quiet", "--package", "checkstone", "--features", "full", "--edges", "normal"]);
    tree.args(["--target", target, "--prefix", "none", "--format", "{p}|{l}"]);
    let listed = process::output(&mut tree)?;
    let crates = listed.lines().filter_map(|line| {
        let (package, license) = line.split_once('|')?;
        let mut words = package.split(' ');
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        // One that was listed before is marked behind its licence.
        let license = license.trim_end_matches(" (*)");
        Some((CratePackage { name: name.to_owned(), version: version.to_owned() }, license.to_owned()))
    });
    Ok(crates.collect())
}

/// Which crate needs which.
fn edges(target: &str) -> Result<BTreeMap<CratePackage, BTreeSet<CratePackage>>, String> {
    let mut metadata = cargo_command();
    metadata.args(["metadata", "--quiet", "--format-version", "1", "--all-features"]);
    metadata.args(["--filter-platform", target]);
    let told: Value =
        serde_json::from_str(&process::output(&mut metadata)?).map_err(|error| error.to_string())?;
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let list =
        |value: &Value, key: &str| value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
    let packages: BTreeMap<String, CratePackage> = list(&told, "packages")
        .iter()
        .filter_map(|package| {
            let named = CratePackage { name: text(package, "name")?, version: text(package, "version")? };
            Some((text(package, "id")?, named))
        })
        .collect();
    let mut edges: BTreeMap<CratePackage, BTreeSet<CratePackage>> = BTreeMap::new();
    for node in told.get("resolve").map(|resolve| list(resolve, "nodes")).unwrap_or_default() {
        let Some(from) = text(&node, "id").and_then(|id| packages.get(&id)) else { continue };
        for needed in list(&node, "deps") {
            let is_linked = list(&needed, "dep_kinds").iter().any(|kind| text(kind, "kind").is_none());
            let to = text(&needed, "pkg").and_then(|id| packages.get(&id));
            if let (true, Some(to)) = (is_linked, to) {
                edges.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    Ok(edges)
}

/// The SHA-256 of what crates.io hands out, where a crate is from there.
fn checksums() -> Result<BTreeMap<CratePackage, String>, String> {
    let text = fs_err::read_to_string(root().join("Cargo.lock")).map_err(|error| error.to_string())?;
    let mut checksums = BTreeMap::new();
    for package in text.split("[[package]]") {
        let value = |key: &str| {
            let line = package.lines().find_map(|line| line.strip_prefix(key))?;
            Some(line.trim_start_matches(" = ").trim_matches('"').to_owned())
        };
        if let (Some(name), Some(version), Some(sum)) = (value("name"), value("version"), value("checksum")) {
            checksums.insert(CratePackage { name, version }, sum);
        }
    }
    Ok(checksums)
}
