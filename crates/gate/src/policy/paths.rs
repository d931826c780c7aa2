//! Which files belong to which category. Paths are relative to the root of the repository; `*` stays inside
//! a folder and `**` does not, a leading dot is a character like any other, and a category beats prose (C6).

use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};

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
    /// Parses one more; the message where it is none.
    pub(crate) fn push(&mut self, text: &str) -> Result<(), String> {
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

fn glob(text: &str) -> Result<Glob, String> {
    let relative = text.strip_prefix("./").unwrap_or(text);
    if relative.is_empty() {
        return Err("it is empty".to_owned());
    }
    if relative.starts_with('/') {
        return Err("it must be relative to the root of the repository".to_owned());
    }
    if relative.split('/').any(|part| part == "..") {
        return Err("it must not leave the repository".to_owned());
    }
    GlobBuilder::new(relative)
        .literal_separator(true)
        .backslash_escape(true)
        .build()
        .map_err(|error| error.kind().to_string())
}

/// What one glob of the set says about a file that it matches.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Means {
    Prose,
    In(usize),
    NotIn(usize),
}

/// All globs of a policy in one set, compiled when the first file is looked at: a turn that changed nothing
/// does not pay for them.
#[derive(Debug)]
pub(crate) struct PathClasses {
    globs: Vec<Glob>,
    means: Vec<Means>,
    categories: usize,
    compiled: OnceLock<GlobSet>,
}

impl PathClasses {
    pub(crate) fn new(prose: Globs) -> Self {
        let means = vec![Means::Prose; prose.0.len()];
        Self { globs: prose.0, means, categories: 0, compiled: OnceLock::new() }
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
        self.compiled();
    }

    fn compiled(&self) -> &GlobSet {
        self.compiled.get_or_init(|| {
            let mut builder = GlobSetBuilder::new();
            for glob in &self.globs {
                builder.add(glob.clone());
            }
            // Each was parsed before; a set that is too large to compile matches nothing.
            builder.build().unwrap_or_else(|_| GlobSet::empty())
        })
    }

    pub(crate) fn classify(&self, path: &str) -> Class {
        let path = path.strip_prefix("./").unwrap_or(path);
        let found: Vec<Means> = self
            .compiled()
            .matches(path)
            .into_iter()
            .filter_map(|index| self.means.get(index).copied())
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
