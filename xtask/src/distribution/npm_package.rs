//! The packages for npm: one for each platform with the program in it, and `checkstone`, which names those as optional
//! dependencies, so that npm installs the one that fits, and whose launcher starts the program in it.

use serde_json::{Map, Value, json};

use super::platform::{PLATFORMS, Platform};
use super::{DESCRIPTION, LICENSE, VERSION, template};
use crate::archive::{FileTree, Squeeze};

/// The folder that npm wants everything in.
const PREFIX: &str = "package/";

/// The package of one platform.
pub(crate) fn of_platform(platform: &Platform, program: &[u8], squeeze: Squeeze) -> Result<Vec<u8>, String> {
    let mut manifest = json!({
        "name": package_name(platform),
        "version": VERSION,
        "description": format!("{DESCRIPTION} The program for {}.", platform.npm_name()),
        "license": LICENSE,
        "os": [platform.os],
        "cpu": [platform.processor],
        "preferUnplugged": true,
    });
    if let (Some(libc), Some(fields)) = (platform.libc, manifest.as_object_mut()) {
        fields.insert("libc".to_owned(), json!([libc]));
    }
    let mut tree = FileTree::default();
    tree.add("package.json", pretty(&manifest)?);
    tree.add("README.md", format!("The program of `checkstone` for {}.\n", platform.npm_name()));
    super::add_licenses(&mut tree, "")?;
    tree.add_program("bin/checkstone", program);
    tree.tar_gz(PREFIX, squeeze)
}

pub(crate) fn file_of_platform(platform: &Platform) -> String {
    format!("checkstone-npm-{}-{VERSION}.tgz", platform.npm_name())
}

/// The package that people name, for these platforms.
pub(crate) fn of_all(platforms: &[&Platform]) -> Result<Vec<u8>, String> {
    let dependencies: Map<String, Value> =
        platforms.iter().map(|platform| (package_name(platform), json!(VERSION))).collect();
    let manifest = json!({
        "name": "checkstone",
        "version": VERSION,
        "description": DESCRIPTION,
        "license": LICENSE,
        "bin": {"checkstone": "launcher.js"},
        "engines": {"node": ">=18"},
        "optionalDependencies": dependencies,
    });
    // In the order of the table: with two that fit, the first that is installed for this C library is taken.
    let known: Vec<Value> = PLATFORMS
        .iter()
        .filter(|platform| platforms.iter().any(|made| made.target == platform.target))
        .map(|platform| {
            let name = package_name(platform);
            json!({"name": name, "os": platform.os, "cpu": platform.processor, "libc": platform.libc})
        })
        .collect();
    let known = serde_json::to_string(&known).map_err(|error| error.to_string())?;
    let mut tree = FileTree::default();
    tree.add("package.json", pretty(&manifest)?);
    tree.add("README.md", template("npm/README.md")?);
    super::add_licenses(&mut tree, "")?;
    tree.add_program("launcher.js", template("npm/launcher.js")?.replace("{{packages}}", &known));
    tree.tar_gz(PREFIX, Squeeze::Best)
}

pub(crate) fn file_of_all() -> String {
    format!("checkstone-npm-{VERSION}.tgz")
}

fn package_name(platform: &Platform) -> String {
    format!("@checkstone/{}", platform.npm_name())
}

fn pretty(manifest: &Value) -> Result<String, String> {
    serde_json::to_string_pretty(manifest).map(|text| text + "\n").map_err(|error| error.to_string())
}
