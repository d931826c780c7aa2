//! The packages that people install in their clients: plugins and extensions. Each is made from the templates in `packages/`, from what `agents` registers, and from the static
//! program.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use agents::{HostPackage, Program, Registration, host};
use transcript::Agent;

use crate::root;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Makes the folders of all packages in `place`, which people unpack.
pub(crate) fn make(program: &Path, place: &Path) -> Result<Vec<PathBuf>, String> {
    let packages =
        Agent::ALL.into_iter().filter_map(|agent| Some((agent, host(agent).files.package.as_ref()?)));
    let made = packages.map(|(agent, package)| {
        let folder = place.join(name(agent));
        make_one(agent, package, program, &folder).map_err(|error| error.to_string())?;
        Ok(folder)
    });
    made.collect()
}

fn remove(folder: &Path) -> std::io::Result<()> {
    match fs_err::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn name(agent: Agent) -> String {
    format!("checkstone-{}-{VERSION}", agent.name())
}

fn make_one(agent: Agent, package: &HostPackage, program: &Path, folder: &Path) -> std::io::Result<()> {
    remove(folder)?;
    let templates = root().join("packages");
    copy(&templates.join(agent.name()), folder)?;
    // A plugin lies in a folder of its marketplace, an extension is the folder itself.
    let own = if package.is_unpacked_folder { folder.to_owned() } else { folder.join("checkstone") };
    copy(&templates.join("shared"), &own)?;
    for license in ["LICENSE-MIT", "LICENSE-APACHE"] {
        write(&own.join(license), &fs_err::read(root().join(license))?, 0o644)?;
    }
    let hooks = Registration::new(agent, Program::InPackage).file();
    write(&own.join("hooks/hooks.json"), hooks.as_bytes(), 0o644)?;
    if package.has_hooks_beside {
        let hooks = Registration::new(agent, Program::At("checkstone")).file();
        write(&folder.join("hooks.json"), hooks.as_bytes(), 0o644)?;
    }
    write(&own.join("bin/checkstone"), &fs_err::read(program)?, 0o755)
}

/// Every file below `from`, with the version filled in.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in fs_err::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            let text = fs_err::read_to_string(entry.path())?.replace("{{version}}", VERSION);
            write(&target, text.as_bytes(), 0o644)?;
        }
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs_err::create_dir_all(folder)?;
        // Whatever the person's own mask says.
        fs_err::set_permissions(folder, std::fs::Permissions::from_mode(0o755))?;
    }
    fs_err::write(path, bytes)?;
    fs_err::set_permissions(path, std::fs::Permissions::from_mode(mode))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn files(folder: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for entry in fs_err::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                files.extend(self::files(&path));
            } else {
                files.push(path);
            }
        }
        files
    }

    fn made(place: &Path) -> Vec<PathBuf> {
        let program = place.join("program");
        fs_err::write(&program, "#!/bin/sh\n").unwrap();
        make(&program, place).unwrap()
    }

    #[test]
    fn every_package_is_whole() {
        let place = tempfile::tempdir().unwrap();
        let packages = made(place.path());
        for folder in packages {
            let files = files(&folder);
            for name in [
                "hooks/hooks.json",
                "bin/checkstone",
                "README.md",
                "skills/hold-points/SKILL.md",
                "skills/workflow-phases/SKILL.md",
                "skills/staged-runs/SKILL.md",
            ] {
                assert!(files.iter().any(|file| file.ends_with(name)), "{name} in {}", folder.display());
            }
            for file in files.iter().filter(|file| !file.ends_with("bin/checkstone")) {
                let text = fs_err::read_to_string(file).unwrap();
                assert!(!text.contains("{{version}}"), "{}", file.display());
                if file.extension().is_some_and(|extension| extension == "json") {
                    serde_json::from_str::<serde_json::Value>(&text).unwrap();
                }
            }
        }
    }
}
