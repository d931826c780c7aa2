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
            asked.push("Nothing is asked for in this repository: it has only prose.".to_owned());
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

#[cfg(test)]
mod tests {
    use super::*;
    use gate::policy::{Policy, Source};

    fn loads(text: &str) {
        let policy = Policy::load(&[Source { name: FILE_NAME, text }]);
        assert!(policy.is_ok(), "{policy:?}\n{text}");
    }

    /// As it is, and with every example in it switched on.
    #[test]
    fn what_is_written_is_a_policy() {
        for presets in [&[][..], &["rust"], &["python", "node", "make"]] {
            let presets = presets.iter().map(|preset| (*preset).to_owned()).collect();
            let asked = vec!["I will ask for `cargo test`.".to_owned()];
            let text = NewPolicy { file: PathBuf::new(), presets, exists: false, asked }.text();
            loads(&text);
            let (head, tail) = text.split_at(text.find("\n# prose").unwrap());
            let is_example = |line: &&str| !line.starts_with("# Files") && !line.starts_with("# What");
            let tail: Vec<&str> =
                tail.lines().filter(is_example).map(|line| line.trim_start_matches(['#', ' '])).collect();
            loads(&format!("{head}\n{}", tail.join("\n")));
        }
    }

    #[test]
    fn the_kind_of_a_repository_is_seen() {
        for (files, presets) in [
            (&["Cargo.toml"][..], &["rust"][..]),
            (&["pyproject.toml", "Makefile"], &[]),
            (&["pyproject.toml", "Makefile", "tests/test_a.py"], &["python"]),
            (&["web/package.json", "api/go.mod", "api/Makefile"], &["go"]),
            (&["web/package.json", "web/tsconfig.json", "web/a.ts", "api/go.mod"], &["node", "go"]),
            (&["Cargo.toml", "tools/Cargo.toml"], &["rust"]),
            (&["node_modules/package.json", ".hidden/go.mod"], &[]),
            (&["mkdocs.yml"], &["docs"]),
            (&["mkdocs.yml", "setup.py", "test_a.py"], &["python"]),
            (&[], &[]),
        ] {
            let folder = tempfile::tempdir().unwrap();
            for file in files {
                let file = folder.path().join(file);
                fs_err::create_dir_all(file.parent().unwrap()).unwrap();
                let text = if file.ends_with("package.json") { "{\"name\": \"a\"}" } else { "" };
                fs_err::write(file, text).unwrap();
            }
            assert_eq!(NewPolicy::of_repository(folder.path(), &[]).presets, presets, "{files:?}");
        }
    }
}
