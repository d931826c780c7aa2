//! Which files belong to which category. Paths are relative to the root of the repository; `*` stays inside
//! a folder and `**` does not, a leading dot is a character like any other, and a category beats prose (C6).

use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobMatcher, GlobSetBuilder};

/// What a changed file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Class {
    /// Indices into the policy's categories, at least one.
    Categories(Vec<usize>),
    Prose,
    /// Source code that no category names.
    OtherCode,
    /// Data, pictures, settings: a change, but none that tests would judge.
    OtherFile,
}

/// Globs, checked and not yet compiled.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Globs(Vec<Glob>);

impl Globs {
    /// Parses one more.
    pub(crate) fn push(&mut self, text: &str) -> Result<(), GlobError> {
        self.0.push(glob(text)?);
        Ok(())
    }

    pub fn texts(&self) -> Vec<String> {
        self.0.iter().map(|glob| glob.glob().to_owned()).collect()
    }

    /// Whether one of the paths matches one of the globs; texts that are none match nothing.
    pub(crate) fn any_matches(texts: &[String], paths: &[String]) -> bool {
        let mut builder = GlobSetBuilder::new();
        for glob in texts.iter().filter_map(|text| glob(text).ok()) {
            builder.add(glob);
        }
        builder.build().is_ok_and(|set| paths.iter().any(|path| set.is_match(path)))
    }

    /// Prose for those who name none.
    pub(crate) fn default_prose() -> Self {
        const PROSE: &[&str] = &[
            "docs/**",
            "doc/**",
            "**/*.md",
            "**/*.mdx",
            "**/*.rst",
            "**/*.adoc",
            "**/*.txt",
            "**/LICENSE*",
            "**/CHANGELOG*",
            "**/AUTHORS",
            "**/.gitignore",
            "**/.editorconfig",
        ];
        Self(PROSE.iter().filter_map(|text| glob(text).ok()).collect())
    }
}

/// Why a text is no glob.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GlobError {
    #[error("it is empty")]
    Empty,
    #[error("it must be relative to the root of the repository; write `{instead}`")]
    Absolute { instead: String },
    #[error("it must not leave the repository")]
    Leaves,
    #[error("{}", .0.kind())]
    Malformed(globset::Error),
}

fn glob(text: &str) -> Result<Glob, GlobError> {
    let relative = text.strip_prefix("./").unwrap_or(text);
    if relative.is_empty() {
        return Err(GlobError::Empty);
    }
    if relative.starts_with('/') {
        return Err(GlobError::Absolute { instead: relative.trim_start_matches('/').to_owned() });
    }
    if relative.split('/').any(|part| part == "..") {
        return Err(GlobError::Leaves);
    }
    GlobBuilder::new(relative)
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .build()
        .map_err(GlobError::Malformed)
}

/// What to write in place of a glob that can match no file: the paths of files have no empty parts and no `.`, and a folder is
/// no file.
pub(crate) fn instead_of(text: &str, is_folder: impl Fn(&str) -> bool) -> Option<String> {
    let relative = text.strip_prefix("./").unwrap_or(text);
    let parts: Vec<&str> = relative.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let clean = parts.join("/");
    let names_a_folder = relative.ends_with('/') || relative.ends_with("/.") || is_folder(&clean);
    if names_a_folder {
        return Some(if clean.is_empty() { "**".to_owned() } else { format!("{clean}/**") });
    }
    (clean != relative).then_some(clean)
}

/// What one glob of the set says about a file that it matches.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Means {
    Prose,
    In(usize),
    NotIn(usize),
}

/// All globs of a policy, made ready when the first file is looked at: a turn that changed nothing does not pay for
/// them.
#[derive(Debug)]
pub(crate) struct PathClasses {
    globs: Vec<Glob>,
    means: Vec<Means>,
    categories: usize,
    matchers: OnceLock<Vec<Matcher>>,
}

/// A glob as it is compared. Most are of a few plain shapes; compiling those as regular expressions would take most
/// of the time of a verdict.
#[derive(Debug)]
enum Matcher {
    /// `a/b.c`
    Exact(String),
    /// `a/**`
    Under(String),
    /// `**/*.c`: the end of the file's name
    NameEnds(String),
    /// `**/b.c`
    Name(String),
    /// `**/b*`: the beginning of the file's name
    NameBegins(String),
    Compiled(GlobMatcher),
}

impl Matcher {
    fn new(glob: &Glob) -> Self {
        let text = glob.glob();
        let is_plain = |part: &str| !part.contains(['*', '?', '[', ']', '{', '}', '\\', '!']);
        let is_name = |part: &str| !part.is_empty() && is_plain(part) && !part.contains('/');
        if is_plain(text) {
            return Self::Exact(text.to_owned());
        }
        if let Some(folder) = text.strip_suffix("/**").filter(|folder| is_plain(folder)) {
            return Self::Under(format!("{folder}/"));
        }
        if let Some(name) = text.strip_prefix("**/") {
            if is_name(name) {
                return Self::Name(name.to_owned());
            }
            if let Some(end) = name.strip_prefix('*').filter(|end| is_name(end)) {
                return Self::NameEnds(end.to_owned());
            }
            if let Some(beginning) = name.strip_suffix('*').filter(|beginning| is_name(beginning)) {
                return Self::NameBegins(beginning.to_owned());
            }
        }
        Self::Compiled(glob.compile_matcher())
    }

    fn is_match(&self, path: &str, name: &str) -> bool {
        match self {
            Self::Exact(exact) => path == exact,
            Self::Under(folder) => path.starts_with(folder.as_str()),
            Self::NameEnds(end) => name.ends_with(end.as_str()),
            Self::Name(exact) => name == exact,
            Self::NameBegins(beginning) => name.starts_with(beginning.as_str()),
            Self::Compiled(glob) => glob.is_match(path),
        }
    }
}

impl PathClasses {
    pub(crate) fn new(prose: Globs) -> Self {
        let means = vec![Means::Prose; prose.0.len()];
        Self { globs: prose.0, means, categories: 0, matchers: OnceLock::new() }
    }

    pub(crate) fn category(&mut self, include: Globs, exclude: Globs) {
        let index = self.categories;
        self.categories += 1;
        self.means.extend(include.0.iter().map(|_| Means::In(index)));
        self.means.extend(exclude.0.iter().map(|_| Means::NotIn(index)));
        self.globs.extend(include.0);
        self.globs.extend(exclude.0);
    }

    pub(crate) fn prepare(&self) {
        self.matchers();
    }

    fn matchers(&self) -> &[Matcher] {
        self.matchers.get_or_init(|| self.globs.iter().map(Matcher::new).collect())
    }

    pub(crate) fn classify(&self, path: &str) -> Class {
        let path = path.strip_prefix("./").unwrap_or(path);
        let name = path.rsplit('/').next().unwrap_or(path);
        let found: Vec<Means> = self
            .matchers()
            .iter()
            .zip(&self.means)
            .filter(|(matcher, _)| matcher.is_match(path, name))
            .map(|(_, means)| *means)
            .collect();
        let categories: Vec<usize> = (0..self.categories)
            .filter(|index| found.contains(&Means::In(*index)) && !found.contains(&Means::NotIn(*index)))
            .collect();
        if !categories.is_empty() {
            Class::Categories(categories)
        } else if found.contains(&Means::Prose) {
            Class::Prose
        } else if is_source(path) {
            Class::OtherCode
        } else {
            Class::OtherFile
        }
    }
}

/// Whether no run says anything about a file although it is source code by its name: it sets up a tool, above the source
/// folder (L10), or is a page that stands alone.
pub(crate) fn needs_no_proof(path: &str) -> bool {
    const PAGES: &[&str] =
        &["src", "app", "public", "static", "templates", "views", "layouts", "components", "pages"];
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    let lies_in = |known: &[&str]| folders.split('/').any(|folder| known.contains(&folder));
    (stem.ends_with(".config") && !lies_in(&["src"])) || (extension == "html" && !lies_in(PAGES))
}

/// Whether a file is source code by its name.
pub(crate) fn is_source(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    if matches!(
        name,
        "Makefile"
            | "makefile"
            | "GNUmakefile"
            | "Justfile"
            | "justfile"
            | "Dockerfile"
            | "Rakefile"
            | "CMakeLists.txt"
    ) {
        return true;
    }
    let Some((stem, extension)) = name.rsplit_once('.') else { return false };
    !stem.is_empty()
        && matches!(
            extension,
            "rs" | "py"
                | "pyi"
                | "pyx"
                | "js"
                | "jsx"
                | "mjs"
                | "cjs"
                | "ts"
                | "tsx"
                | "mts"
                | "cts"
                | "vue"
                | "svelte"
                | "astro"
                | "go"
                | "java"
                | "kt"
                | "kts"
                | "scala"
                | "groovy"
                | "clj"
                | "c"
                | "h"
                | "cc"
                | "cpp"
                | "cxx"
                | "hh"
                | "hpp"
                | "m"
                | "mm"
                | "cs"
                | "fs"
                | "vb"
                | "rb"
                | "php"
                | "pl"
                | "pm"
                | "lua"
                | "r"
                | "jl"
                | "swift"
                | "dart"
                | "ex"
                | "exs"
                | "erl"
                | "hs"
                | "ml"
                | "mli"
                | "zig"
                | "nim"
                | "sh"
                | "bash"
                | "zsh"
                | "fish"
                | "ps1"
                | "sql"
                | "proto"
                | "graphql"
                | "tf"
                | "nix"
                | "mk"
                | "cmake"
                | "bats"
                | "html"
                | "css"
                | "scss"
                | "sass"
                | "less"
        )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The plain shapes say what the glob itself would say.
        #[test]
        fn a_matcher_says_what_its_glob_says(
            pattern in "(\\*\\*/)?([a.b]{1,3}/)?(\\*)?[a.b]{0,3}(\\*)?(/\\*\\*)?",
            path in "([a.b]{1,3}/){0,3}[a.b]{1,4}",
        ) {
            if let Ok(glob) = glob(&pattern) {
                let name = path.rsplit('/').next().unwrap_or(&path);
                prop_assert_eq!(
                    Matcher::new(&glob).is_match(&path, name),
                    glob.compile_matcher().is_match(&path),
                    "{} against {}", pattern, path
                );
            }
        }
    }

    #[test]
    fn the_usual_globs_need_no_compiling() {
        for text in ["**/*.rs", "docs/**", "**/Cargo.toml", "Cargo.lock", "**/LICENSE*", ".husky/pre-commit"]
        {
            assert!(!matches!(Matcher::new(&glob(text).unwrap()), Matcher::Compiled(_)), "{text}");
        }
    }
}
