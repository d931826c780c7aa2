//! The policy file that `init` writes where a repository has none.

use std::path::{Path, PathBuf};

use stop::policy_files::{FILE_NAME, detected_presets};

/// What is to be written, and where.
#[derive(Debug)]
pub(crate) struct NewPolicy {
    pub(crate) file: PathBuf,
    pub(crate) presets: Vec<String>,
    /// A file of that name is there already, and stays.
    pub(crate) exists: bool,
}

/// Folders whose content is not the repository's own.
const FOREIGN: &[&str] = &["node_modules", "vendor", "target", "venv", "dist", "build", "third_party"];

/// Files of programs that make a site or a book of prose.
const DOCUMENTATION: &[&str] =
    &["mkdocs.yml", "mkdocs.yaml", "book.toml", "antora.yml", "_config.yml", "_quarto.yml", "typst.toml"];

impl NewPolicy {
    /// `named` presets beat what the repository looks like.
    pub(crate) fn of_repository(root: &Path, named: &[String]) -> Self {
        let file = root.join(FILE_NAME);
        let presets = if named.is_empty() { found_presets(root) } else { named.to_vec() };
        let exists = file.symlink_metadata().is_ok();
        Self { file, presets, exists }
    }

    pub(crate) fn text(&self) -> String {
        let presets: Vec<String> = self.presets.iter().map(|preset| format!("\"{preset}\"")).collect();
        format!("{HEAD}presets = [{}]\n{TAIL}", presets.join(", "))
    }
}

/// What lies at the root and one folder deeper, for repositories of several parts.
fn found_presets(root: &Path) -> Vec<String> {
    let folders = fs_err::read_dir(root).into_iter().flatten().filter_map(|entry| {
        let entry = entry.ok()?;
        let name = entry.file_name().into_string().ok()?;
        let is_own = !name.starts_with('.') && !FOREIGN.contains(&name.as_str());
        (is_own && entry.file_type().ok()?.is_dir()).then(|| entry.path())
    });
    let mut presets = detected_presets(root);
    let mut deeper: Vec<&str> =
        folders.flat_map(|folder| detected_presets(&folder)).filter(|preset| *preset != "make").collect();
    deeper.sort_unstable();
    presets.extend(deeper);
    if presets.is_empty() && DOCUMENTATION.iter().any(|name| root.join(name).is_file()) {
        presets.push("docs");
    }
    let mut found: Vec<String> = Vec::new();
    for preset in presets {
        if !found.iter().any(|known| known == preset) {
            found.push(preset.to_owned());
        }
    }
    found
}

const HEAD: &str = "\
# What must be done before an agent may end its turn here.
# `checkstone policy show` prints all that follows from this file, `checkstone policy check` finds mistakes in it.

# Ready-made rules: docs, go, make, node, python, rust.
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
            let text = NewPolicy { file: PathBuf::new(), presets, exists: false }.text();
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
            (&["pyproject.toml", "Makefile"], &["python", "make"]),
            (&["web/package.json", "api/go.mod", "api/Makefile"], &["go", "node"]),
            (&["Cargo.toml", "tools/Cargo.toml"], &["rust"]),
            (&["node_modules/package.json", ".hidden/go.mod"], &[]),
            (&["mkdocs.yml"], &["docs"]),
            (&["mkdocs.yml", "setup.py"], &["python"]),
            (&[], &[]),
        ] {
            let folder = tempfile::tempdir().unwrap();
            for file in files {
                let file = folder.path().join(file);
                fs_err::create_dir_all(file.parent().unwrap()).unwrap();
                fs_err::write(file, "").unwrap();
            }
            assert_eq!(found_presets(folder.path()), presets, "{files:?}");
        }
    }
}
