//! Go, Java, .NET, C and C++, Swift and other languages, one or two rows each.

use outputs::Runner::*;

use super::Deed::{self, *};
use super::Fact::*;
use super::Grammar::*;
use super::Program;

programs! {
    "go" => Other {
        grammar: Subcommand, folder: "-C", facts: &[CompilesTests, StaysBelow, NamesPackages], prints: &[Go],
        valued: "-run -bench -count -timeout -tags -coverprofile -coverpkg -cpu -parallel -skip -p -o",
        idle: "-c -list -list= -run=^$ -run=NONE -run=XXX -n -h -help",
        uses: &[
            ("test", Tests), ("build install", Builds), ("vet", Lints), ("fmt", Formats), ("fix", Fixes), ("run generate", Runs),
            ("mod/tidy mod/download get", Installs), ("list env version doc", Looks),
        ],
    }
    "gotestsum" | "gotest" => Tests { prints: &[Gotestsum, Go] }
    "ginkgo" => Tests {}
    "richgo" => Other { grammar: Subcommand, uses: &[("test", Tests)], prints: &[Go] }
    "gofmt" => Lints { uses: &[("-w", Formats)] }
    "goimports" => Lints { uses: &[("-w", Fixes)] }
    "golangci-lint" | "staticcheck" => Lints { uses: &[("--fix", Fixes)] }

    "gradle" | "gradlew" => Other {
        idle: "-m -x=test -h", valued: "-x", folder: "-p --project-dir", prints: &[Gradle],
        uses: &[("test* *:test* check *:check", Tests), ("lint* *:lint* detekt ktlintCheck spotlessCheck", Lints), ("build assemble* compile* *:build *:assemble*", Builds)],
    }
    "mvn" | "mvnw" => Other {
        idle: "-DskipTests -DskipTests=true -Dmaven.test.skip -Dmaven.test.skip=true -h -v", folder: "-f --file",
        package: "-pl --projects", prints: &[Maven],
        uses: &[("test verify install integration-test", Tests), ("compile test-compile package", Builds)],
    }
    "sbt" => Other { uses: &[("test *Test* test*", Tests), ("compile", Builds)], prints: &[Sbt] }
    "bazel" | "bazelisk" => Other {
        grammar: Subcommand, uses: &[("test coverage", Tests), ("build", Builds), ("run", Runs), ("query", Looks)],
    }
    "dotnet" => Other {
        grammar: Subcommand, idle: "--list-tests -lt -h", facts: &[TakesAll], prints: &[Dotnet],
        uses: &[
            ("test", Tests), ("build publish", Builds), ("format/--verify-no-changes", Lints), ("format", Fixes),
            ("run", Runs), ("restore add", Installs),
        ],
    }
    "ctest" => Tests {
        idle: "-N --show-only --print-labels -h", folder: "--test-dir", facts: &[TakesAll], prints: &[Ctest, Gtest, Catch2],
    }
    "cmake" => Other { uses: &[("--build", Builds)] }
    "ninja" | "meson" => Builds { folder: "-C", uses: &[("test", Tests)], facts: &[JoinsValues] }
    "gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" => Builds {
        valued: "-o -I -L -D -U -l -x -include -isystem -iquote -MF -MT -MQ", facts: &[ChecksFiles],
    }
    "javac" | "kotlinc" | "scalac" => Builds {}
    "clang-format" => Lints { uses: &[("-i", Formats)] }
    "swift" => Other {
        grammar: Subcommand, folder: "--package-path", facts: &[TakesAll], prints: &[Swift],
        uses: &[("test", Tests), ("build", Builds), ("format", Formats), ("run", Runs)],
    }
    "xcodebuild" => Other { uses: &[("test test-without-building", Tests), ("build archive", Builds)], prints: &[Xcodebuild, Swift] }
    "cabal" => Other { grammar: Subcommand, uses: &[("test", Tests), ("build", Builds), ("run", Runs)], prints: &[Cabal, Rspec] }
    "zig" => Other {
        grammar: Subcommand, prints: &[Zig],
        uses: &[("test build/test", Tests), ("build build-exe build-lib", Builds), ("fmt/--check", Lints), ("fmt", Formats), ("run", Runs)],
    }
    "dart" | "flutter" => Other {
        grammar: Subcommand, prints: &[Dart],
        uses: &[("test", Tests), ("analyze", Lints), ("format", Formats), ("compile build", Builds), ("pub/get", Installs), ("run", Runs)],
    }
    "mix" => Other {
        grammar: Subcommand, prints: &[Exunit],
        uses: &[
            ("test", Tests), ("compile", Builds), ("format/--check-formatted credo dialyzer", Lints), ("format", Formats),
            ("run eval", Runs), ("deps.get", Installs),
        ],
    }
    "rebar3" => Other { grammar: Subcommand, uses: &[("eunit ct proper", Tests), ("compile", Builds), ("dialyzer", Lints)] }
    "gleam" => Other { grammar: Subcommand, uses: &[("test", Tests), ("build", Builds), ("check", TypeChecks), ("format", Formats), ("run", Runs)] }
    "dune" => Other { grammar: Subcommand, uses: &[("test runtest", Tests), ("build", Builds), ("fmt", Formats), ("exec", Runs)] }
    "stack" => Other { grammar: Subcommand, uses: &[("test", Tests), ("build", Builds), ("run exec", Runs)], prints: &[Cabal, Rspec] }
    "ghc" | "nimble" | "msbuild" | "scons" => Builds { uses: &[("test", Tests)] }
    "crystal" => Other { grammar: Subcommand, uses: &[("spec", Tests), ("build", Builds), ("run", Runs)] }
    "lein" => Other { grammar: Subcommand, uses: &[("test", Tests), ("compile uberjar", Builds), ("run", Runs)] }
    "ant" => Other { grammar: Targets }
    "buck2" | "pants" => Other { grammar: Subcommand, uses: &[("test", Tests), ("build package", Builds), ("check", TypeChecks), ("lint", Lints), ("run", Runs)] }
    "tinygo" => Other { grammar: Subcommand, uses: &[("test", Tests), ("build", Builds)], prints: &[Go] }
    "forge" | "hardhat" => Other { grammar: Subcommand, uses: &[("test", Tests), ("build compile", Builds), ("fmt", Formats)] }
    "wasm-pack" => Other { grammar: Subcommand, uses: &[("test", Tests), ("build", Builds)], prints: &[Cargo] }
    "prove" => Tests { prints: &[Tap] }
    "busted" | "elm-test" | "codecept" | "cucumber" => Tests {}
    "rails" => Other { grammar: Subcommand, uses: &[("test", Tests), ("server runner console", Runs)], prints: &[Minitest] }
    "srb" => Other { grammar: Subcommand, uses: &[("tc", TypeChecks)] }
    "standardrb" => Lints { uses: &[("--fix", Fixes)] }
    "julia" | "Rscript" | "elixir" | "groovy" => Runs { facts: &[Interprets] }
    "bats" => Tests { idle: "-c --count -h", prints: &[Bats, Tap] }
    "rspec" => Tests { idle: "-h -v", facts: &[TakesAll], prints: &[Rspec] }
    "rubocop" => Lints { uses: &[("-a -A --fix --autocorrect", Fixes)] }
    "pest" => Tests { idle: "--list-tests -h", facts: &[TakesAll], prints: &[Pest] }
    "phpunit" => Tests {
        idle: "--list-tests --list-suites --list-groups -h", facts: &[TakesAll], prints: &[Phpunit],
    }
    "telec" => Other { grammar: Subcommand }
}
