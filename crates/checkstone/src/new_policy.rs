//! The policy file that `init` writes where a repository has none: the presets that fit it, and what they will ask for.

use std::path::{Path, PathBuf};

use gate::policy::PRESETS;
use stop::policy_files::FILE_NAME;

use crate::asked_for::{FittingPresets, nothing_asked_for};
use crate::repository_policy;

/// What is to be written, and where.
#[derive(Debug)]
pub(crate) struct NewPolicy {
    pub(crate) file: PathBuf,
    pub(crate) presets: Vec<String>,
    /// A file of that name is there already, and stays.
    pub(crate) exists: bool,
    /// What will be asked for, one sentence each.
    pub(crate) asked: Vec<String>,
}

/// Files of programs that make a site or a book of prose.
const DOCUMENTATION: &[&str] =
    &["mkdocs.yml", "mkdocs.yaml", "book.toml", "antora.yml", "_config.yml", "_quarto.yml", "typst.toml"];

impl NewPolicy {
    /// `named` presets beat what the repository looks like.
    pub(crate) fn of_repository(root: &Path, named: &[String]) -> Self {
        let file = root.join(FILE_NAME);
        if file.symlink_metadata().is_ok() {
            let policy = repository_policy::of(root).and_then(|texts| texts.load().ok());
            let nothing = policy.and_then(|policy| nothing_asked_for(root, &policy));
            let asked = nothing.map(|(why, advice)| format!("{why}; {advice}")).into_iter().collect();
            return Self { file, presets: named.to_vec(), exists: true, asked };
        }
        let fitting = FittingPresets::of(root);
        let mut presets = named.to_vec();
        if presets.is_empty() {
            presets.extend(fitting.names().into_iter().map(str::to_owned));
        }
        let mut asked = fitting.sentences(&presets);
        let is_prose = || DOCUMENTATION.iter().any(|name| root.join(name).is_file());
        if presets.is_empty() && is_prose() {
            presets.push("docs".to_owned());
            asked.push("Nothing is asked for in this repository: it is prose.".to_owned());
        } else if presets.is_empty() {
            let why = match (asked.is_empty(), fitting.has_code) {
                (true, false) => ": I found no code",
                (true, true) => ": I found no command that verifies its code",
                (false, _) => "",
            };
            asked.push(format!(
                "Nothing is asked for in this repository{why}. To ask for something, add a category of your own to `{FILE_NAME}`."
            ));
        }
        Self { file, presets, exists: false, asked }
    }

    pub(crate) fn text(&self) -> String {
        let quoted: Vec<String> = self.presets.iter().map(|preset| format!("\"{preset}\"")).collect();
        let known: Vec<&str> =
            PRESETS.iter().map(|(name, _)| *name).filter(|name| *name != "teleclaude").collect();
        let asked: String = self.asked.iter().map(|sentence| format!("# {sentence}\n")).collect();
        let (known, quoted) = (known.join(", "), quoted.join(", "));
        format!("{HEAD}{asked}\n# Ready-made rules: {known}.\npresets = [{quoted}]\n{TAIL}")
    }
}

const HEAD: &str = "\
# What must be done before an agent may end its turn here.
# `checkstone policy show` prints all that follows from this file, `checkstone policy check` finds mistakes in it.
";

const TAIL: &str = r#"
# Files that need nothing. A category below beats this.
# prose = ["docs/**", "*.md"]

# [gate]
# all_clear = "notify"     # notify | hold | silent

# What else changed files require:
#
# [[category]]
# name = "service code"
# include = ["service/**"]
# require = ["restart"]
#
# [action.restart]
# say = "Run `make restart`"
# evidence = ["make restart"]
"#;

