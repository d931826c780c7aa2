//! The languages that packages are written in: which manifests say so, and whose programs verify them.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::table::{Fact, find, has, matches_glob};

/// A language with its tools, as a manifest names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Language {
    JavaScript,
    Deno,
    Rust,
    Go,
    Python,
    Java,
    DotNet,
    C,
    Ruby,
    Php,
    Swift,
    Elixir,
    Dart,
    OCaml,
    Haskell,
    Zig,
    Shell,
}

struct Signs {
    language: Language,
    /// Names of manifests; `*` is any text.
    manifests: &'static str,
    /// How the names of its files end.
    files: &'static str,
    /// Programs that only know this language: what they verify at the root says nothing of other languages below.
    programs: &'static str,
}

const SIGNS: &[Signs] = &[
    Signs {
        language: Language::JavaScript,
        manifests: "package.json",
        files: "js jsx mjs cjs ts tsx mts cts vue svelte astro",
        programs: "npm pnpm yarn bun node tsx ts-node jest vitest mocha ava tap karma tsc vue-tsc svelte-check eslint oxlint biome ng",
    },
    Signs {
        language: Language::Deno,
        manifests: "deno.json deno.jsonc",
        files: "js jsx mjs ts tsx mts",
        programs: "deno",
    },
    Signs {
        language: Language::Rust,
        manifests: "Cargo.toml",
        files: "rs",
        programs: "cargo cross rustc rustfmt",
    },
    Signs {
        language: Language::Go,
        manifests: "go.mod",
        files: "go",
        programs: "go gotestsum gotest ginkgo richgo gofmt goimports golangci-lint staticcheck",
    },
    Signs {
        language: Language::Python,
        manifests: "pyproject.toml setup.py setup.cfg requirements*.txt Pipfile manage.py tox.ini",
        files: "py pyi pyx",
        programs: "pytest unittest nosetests nose2 tox nox mypy pyright basedpyright ty flake8 pylint ruff black isort",
    },
    Signs {
        language: Language::Java,
        manifests: "pom.xml build.gradle build.gradle.kts build.sbt",
        files: "java kt kts scala groovy",
        programs: "gradle gradlew mvn mvnw sbt javac kotlinc scalac",
    },
    Signs {
        language: Language::DotNet,
        manifests: "*.csproj *.fsproj *.vbproj *.sln *.slnx",
        files: "cs fs vb",
        programs: "dotnet",
    },
    Signs {
        language: Language::C,
        manifests: "CMakeLists.txt meson.build configure configure.ac",
        files: "c h cc cpp cxx hh hpp m mm",
        programs: "ctest cmake meson ninja gcc g++ clang clang++",
    },
    Signs {
        language: Language::Ruby,
        manifests: "Gemfile Rakefile *.gemspec",
        files: "rb",
        programs: "rspec rubocop rake",
    },
    Signs {
        language: Language::Php,
        manifests: "composer.json",
        files: "php",
        programs: "phpunit pest phpstan composer php",
    },
    Signs {
        language: Language::Swift,
        manifests: "Package.swift *.xcodeproj *.xcworkspace",
        files: "swift m mm h",
        programs: "swift xcodebuild swiftlint",
    },
    Signs { language: Language::Elixir, manifests: "mix.exs", files: "ex exs", programs: "mix" },
    Signs { language: Language::Dart, manifests: "pubspec.yaml", files: "dart", programs: "dart flutter" },
    Signs { language: Language::OCaml, manifests: "dune-project", files: "ml mli", programs: "dune" },
    Signs {
        language: Language::Haskell,
        manifests: "*.cabal stack.yaml cabal.project",
        files: "hs",
        programs: "cabal stack",
    },
    Signs { language: Language::Zig, manifests: "build.zig", files: "zig", programs: "zig" },
    Signs {
        language: Language::Shell,
        manifests: "",
        files: "sh bash zsh bats",
        programs: "bats shellcheck shfmt",
    },
];

/// The manifests without and with a `*` in their names; made once, because every file of a checkout is asked for.
type Manifests = (HashMap<&'static str, Language>, Vec<(&'static str, Language)>);

static MANIFESTS: LazyLock<Manifests> = LazyLock::new(|| {
    let named = |signs: &'static Signs| signs.manifests.split(' ').map(|name| (name, signs.language));
    let (globs, plain): (Vec<_>, Vec<_>) =
        SIGNS.iter().flat_map(named).partition(|(name, _)| name.contains('*'));
    (plain.into_iter().collect(), globs)
});

impl Language {
    /// The language that a file name is the manifest of.
    pub fn of_manifest(name: &str) -> Option<Self> {
        let (plain, globs) = &*MANIFESTS;
        let by_glob =
            || globs.iter().find(|(glob, _)| matches_glob(glob, name)).map(|(_, language)| *language);
        plain.get(name).copied().or_else(by_glob)
    }

    /// Whether the manifests below one of this language are parts of the same build.
    pub(super) fn builds_as_one(self) -> bool {
        matches!(self, Self::C | Self::Java | Self::DotNet)
    }

    /// Whether a file is written in it, by its name.
    pub fn writes(self, path: &str) -> bool {
        let extension = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, end)| end);
        let mut own = SIGNS.iter().filter(|signs| signs.language == self);
        extension.is_some_and(|extension| own.any(|signs| has(signs.files, extension)))
    }

    /// Whether a file is written in any of them, by its name.
    pub(crate) fn is_known(path: &str) -> bool {
        SIGNS.iter().any(|signs| signs.language.writes(path))
    }

    /// Whether a program is about code at all; a checker of prose or settings is not.
    pub fn is_of_program(program: &str) -> bool {
        find(program).is_none_or(|row| !row.is(Fact::ChecksNoCode))
    }

    /// The one language that a program is about.
    pub fn of_program(program: &str) -> Option<Self> {
        SIGNS.iter().find(|signs| has(signs.programs, program)).map(|signs| signs.language)
    }
}
