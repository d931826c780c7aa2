//! Go, Java, .NET, C and C++, Swift and other languages, one or two rows each.

use super::Deed::{self, *};
use super::Fact::*;
use super::Grammar::*;
use super::{Program, on};
use crate::runner_summary::Runner::*;

programs! {
    "go" => Other {
        grammar: Subcommand, folder: "-C", facts: &[CompilesTests], prints: &[Go],
        idle: "-c -list -list= -run=^$ -run=NONE -run=XXX -n -h -help",
        uses: &[
            on("test", Tests), on("build install", Builds), on("vet", Lints), on("fmt", Formats), on("fix", Fixes), on("run generate", Runs),
            on("mod/tidy mod/download get", Installs), on("list env version doc", Looks),
        ],
    }
    "gotestsum" | "gotest" => Tests { prints: &[Gotestsum, Go] }
    "ginkgo" => Tests {}
    "richgo" => Other { grammar: Subcommand, uses: &[on("test", Tests)], prints: &[Go] }
    "gofmt" => Lints { uses: &[on("-w", Formats)] }
    "goimports" => Lints { uses: &[on("-w", Fixes)] }
    "golangci-lint" | "staticcheck" => Lints { uses: &[on("--fix", Fixes)] }

    "gradle" | "gradlew" => Other {
        idle: "-m -x=test -h", valued: "-x", folder: "-p --project-dir", prints: &[Gradle],
        uses: &[on("test* *:test* check *:check", Tests), on("build assemble* compile* *:build *:assemble*", Builds)],
    }
    "mvn" | "mvnw" => Other {
        idle: "-DskipTests -DskipTests=true -Dmaven.test.skip -Dmaven.test.skip=true -h -v", folder: "-f --file",
        package: "-pl --projects", prints: &[Maven],
        uses: &[on("test verify install integration-test", Tests), on("compile test-compile package", Builds)],
    }
    "sbt" => Other { uses: &[on("test *Test* test*", Tests), on("compile", Builds)] }
    "bazel" | "bazelisk" => Other {
        grammar: Subcommand, uses: &[on("test coverage", Tests), on("build", Builds), on("run", Runs), on("query", Looks)],
    }
    "dotnet" => Other {
        grammar: Subcommand, idle: "--list-tests -lt -h", facts: &[TakesAll], prints: &[Dotnet],
        uses: &[
            on("test", Tests), on("build publish", Builds), on("format/--verify-no-changes", Lints), on("format", Fixes),
            on("run", Runs), on("restore add", Installs),
        ],
    }
    "ctest" => Tests {
        idle: "-N --show-only --print-labels -h", folder: "--test-dir", facts: &[TakesAll], prints: &[Ctest],
    }
    "cmake" => Other { uses: &[on("--build", Builds)] }
    "ninja" | "meson" => Builds { folder: "-C", uses: &[on("test", Tests)] }
    "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "javac" | "kotlinc" | "scalac" => Builds {}
    "clang-format" => Lints { uses: &[on("-i", Formats)] }
    "swift" => Other {
        grammar: Subcommand, folder: "--package-path", facts: &[TakesAll],
        uses: &[on("test", Tests), on("build", Builds), on("format", Formats), on("run", Runs)],
    }
    "zig" => Other {
        grammar: Subcommand,
        uses: &[on("test build/test", Tests), on("build build-exe build-lib", Builds), on("fmt/--check", Lints), on("fmt", Formats), on("run", Runs)],
    }
    "dart" | "flutter" => Other {
        grammar: Subcommand,
        uses: &[on("test", Tests), on("analyze", Lints), on("format", Formats), on("compile build", Builds), on("pub/get", Installs), on("run", Runs)],
    }
    "mix" => Other {
        grammar: Subcommand,
        uses: &[on("test", Tests), on("compile", Builds), on("format/--check-formatted credo dialyzer", Lints), on("format", Formats), on("deps.get", Installs)],
    }
    "terraform" => Other { grammar: Subcommand, uses: &[on("fmt/-check", Lints), on("fmt", Formats), on("validate", Lints)] }
    "buf" => Other { grammar: Subcommand, uses: &[on("format", Formats), on("lint", Lints), on("build", Builds)] }
    "stylua" => Formats { uses: &[on("--check", Lints)] }
    "shfmt" => Lints { uses: &[on("-w", Formats)] }
    "shellcheck" => Lints {}
    "bats" => Tests { idle: "-c --count -h", prints: &[CountedPhrase, Tap] }
    "rspec" => Tests { idle: "-h -v", facts: &[TakesAll], prints: &[CountedPhrase] }
    "rubocop" => Lints { uses: &[on("-a -A --fix --autocorrect", Fixes)] }
    "phpunit" => Tests {
        idle: "--list-tests --list-suites --list-groups -h", facts: &[TakesAll], prints: &[Phpunit],
    }
    "telec" => Other { grammar: Subcommand }
}
