//! Checkers of settings, containers, infrastructure and prose, and those of other languages that do nothing else.

use super::Deed::{self, *};
use super::Fact::*;
use super::Grammar::*;
use super::Program;

programs! {
    "terraform" | "tofu" => Other { grammar: Subcommand, uses: &[("fmt/-check", Lints), ("fmt", Formats), ("validate", Lints), ("test", Tests)], facts: &[ChecksNoCode] }
    "helm" => Other { grammar: Subcommand, uses: &[("lint", Lints), ("template", Builds)], facts: &[ChecksNoCode] }
    "buf" => Other { grammar: Subcommand, uses: &[("format", Formats), ("lint", Lints), ("build", Builds)], facts: &[ChecksNoCode] }
    "tflint" | "hadolint" | "actionlint" | "zizmor" | "yamllint" | "kubeconform" | "ansible-lint" => Lints { facts: &[ChecksNoCode] }
    "markdownlint" | "markdownlint-cli2" | "cspell" | "typos" | "vale" | "codespell" => Lints { uses: &[("--fix -w", Fixes)], facts: &[ChecksNoCode] }
    "sqlfluff" => Lints { grammar: Subcommand, uses: &[("fix format", Fixes)], facts: &[ChecksNoCode] }
    "stylua" => Formats { uses: &[("--check", Lints)] }
    "shfmt" => Lints { uses: &[("-w", Formats)] }
    "shellcheck" | "luacheck" | "clang-tidy" | "cppcheck" | "detekt" | "hlint" | "brakeman" | "psalm" => Lints {}
    "phpstan" => Lints { grammar: Subcommand }
    "phpcs" | "lint-staged" => Lints {}
    "phpcbf" => Fixes {}
    "pint" | "php-cs-fixer" => Fixes { uses: &[("--test --dry-run", Lints)] }
    "ktlint" => Lints { uses: &[("-F --format", Formats)] }
    "swiftlint" => Lints { uses: &[("--fix", Fixes)] }
    "swiftformat" => Formats { uses: &[("--lint", Lints)] }
    "revive" | "gosec" | "errcheck" | "govulncheck" => Lints {}
}
