//! What a run ran in: the system and the programs that its stages start. A run that goes on elsewhere, or later, may
//! find others, and what it makes then may differ; that is told, and not forbidden.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::plan::{Plan, Program};

/// So many programs are looked up; a plan that names more is known well enough by these.
const PROGRAMS: usize = 100;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Surroundings {
    /// `linux x86_64`
    pub platform: String,
    /// As the system calls itself.
    pub system: Option<String>,
    /// By the name that a stage starts them with.
    pub programs: BTreeMap<String, FoundProgram>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FoundProgram {
    pub path: String,
    pub size_bytes: u64,
    pub modified_at: String,
}

impl Surroundings {
    /// What is here now, for the programs of this plan; `search_path` is the `PATH` that the stages get.
    pub fn look(plan: &Plan, search_path: Option<&OsStr>) -> Self {
        let search_path = search_path.unwrap_or_default();
        let found = |name: String| find(&name, search_path).map(|found| (name, found));
        let programs = names(plan).into_iter().filter_map(found).collect();
        Self {
            platform: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            system: system_name(),
            programs,
        }
    }

    /// What is no longer as it was, one sentence each (R13). Programs that the plan no longer names are of no concern.
    pub(crate) fn drift_since(&self, before: &Self, plan: &Plan) -> Vec<String> {
        let names = names(plan);
        let mut told = Vec::new();
        if self.platform != before.platform {
            told.push(format!("the platform was {} and is {} now", before.platform, self.platform));
        }
        if self.system != before.system {
            let name = |system: &Option<String>| system.clone().unwrap_or_else(|| "unknown".to_owned());
            told.push(format!("the system was {} and is {} now", name(&before.system), name(&self.system)));
        }
        for (name, before) in &before.programs {
            match self.programs.get(name) {
                None if !names.contains(name) => {}
                None => told.push(format!("the program `{name}` was `{}` and is gone", before.path)),
                Some(now) if now.path != before.path => {
                    told.push(format!(
                        "the program `{name}` was `{}` and is `{}` now",
                        before.path, now.path
                    ));
                }
                Some(now) if now != before => {
                    told.push(format!("the program `{name}` (`{}`) has been replaced", now.path));
                }
                Some(_) => {}
            }
        }
        told
    }
}

fn names(plan: &Plan) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for stage in &plan.stages {
        for program in [Some(&stage.command), stage.verify.as_ref()].into_iter().flatten() {
            if names.len() < PROGRAMS {
                collect_names(program, &mut names);
            }
        }
    }
    names
}

/// The words that a program could be started by.
fn collect_names(program: &Program, names: &mut BTreeSet<String>) {
    match program {
        Program::Words(words) => names.extend(words.first().cloned()),
        Program::Shell(text) => {
            let is_plain = |word: &&str| {
                word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._+-".contains(&byte))
                    && word.starts_with(|first: char| first.is_ascii_alphabetic())
            };
            let words = text.split(|c: char| c.is_whitespace() || ";|&()`$\"'".contains(c)).filter(is_plain);
            names.extend(words.take(PROGRAMS).map(str::to_owned));
        }
    }
}

fn find(name: &str, search_path: &OsStr) -> Option<FoundProgram> {
    // One of the project itself cannot be looked at without a folder.
    let absolute = Some(PathBuf::from(name)).filter(|path| path.is_absolute());
    let path = absolute.or_else(|| files::find_program(OsStr::new(name), search_path))?;
    let metadata = fs_err::metadata(&path).ok()?;
    if !metadata.is_file() || metadata.permissions().mode() & 0o111 == 0 {
        return None;
    }
    let modified = metadata.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
    Some(FoundProgram {
        path: path.to_string_lossy().into_owned(),
        size_bytes: metadata.len(),
        modified_at: modified.map(|at| format!("{at:.0}")).unwrap_or_default(),
    })
}

fn system_name() -> Option<String> {
    let text = fs_err::read_to_string("/etc/os-release").ok()?;
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(value.trim_matches('"').to_owned())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn program(path: &str, size_bytes: u64) -> FoundProgram {
        FoundProgram { path: path.to_owned(), size_bytes, modified_at: "2026-01-01T00:00:00Z".to_owned() }
    }

    fn surroundings(programs: &[(&str, FoundProgram)]) -> Surroundings {
        Surroundings {
            platform: "linux x86_64".to_owned(),
            system: Some("Debian".to_owned()),
            programs: programs.iter().map(|(name, found)| ((*name).to_owned(), found.clone())).collect(),
        }
    }

    /// R13
    #[test]
    fn whatever_is_another_is_told() {
        let before = surroundings(&[
            ("python3", program("/usr/bin/python3", 10)),
            ("awk", program("/usr/bin/awk", 5)),
            ("sh", program("/bin/sh", 3)),
        ]);
        let mut now =
            surroundings(&[("python3", program("/opt/bin/python3", 10)), ("sh", program("/bin/sh", 4))]);
        now.platform = "linux aarch64".to_owned();
        let text = "title = \"t\"\n[[stage]]\nstageId = \"S01_load_data\"\ngoal = \"Load the data of the study\"\n\
                    command = \"python3 x | awk y\"\n";
        let plan = Plan::read("plan.toml", text, Path::new("/")).unwrap();
        assert_eq!(
            now.drift_since(&before, &plan),
            [
                "the platform was linux x86_64 and is linux aarch64 now",
                "the program `awk` was `/usr/bin/awk` and is gone",
                "the program `python3` was `/usr/bin/python3` and is `/opt/bin/python3` now",
                "the program `sh` (`/bin/sh`) has been replaced",
            ]
        );
        assert_eq!(before.drift_since(&before, &plan), Vec::<String>::new());
        // A stage that was taken out of the plan took its program along.
        let plan = Plan::read("plan.toml", &text.replace(" | awk y", ""), Path::new("/")).unwrap();
        assert!(!now.drift_since(&before, &plan).iter().any(|told| told.contains("awk")));
    }
}
