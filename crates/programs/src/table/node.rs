//! JavaScript and TypeScript: package managers, their runners of installed tools, and those tools.

use outputs::Runner::*;

use super::Deed::{self, *};
use super::Fact::*;
use super::Grammar::*;
use super::Launches::Rest;
use super::{Done, LAUNCH, Program, TaskRunner, after};

const SCRIPTS: &[TaskRunner] = &[TaskRunner::PackageScript];
const NPX: &str = "-p --package -c --call";
const ADDED: Done = Done { deeds: &[Installs], well: &["added #", "up to date"], badly: "npm error" };

programs! {
    "npm" => Other {
        grammar: Scripts, tasks: SCRIPTS, folder: "--prefix -C", package: "-w --workspace", facts: &[TakesAll],
        launches: Rest(&[after("exec", NPX), after("x", NPX)]), done: ADDED,
        uses: &[("install i ci add uninstall update", Installs), ("ls view outdated", Looks)],
    }
    "pnpm" => Other {
        grammar: Scripts, tasks: SCRIPTS, folder: "-C --dir --prefix", package: "--filter -F", facts: &[TakesAll, RunsNodeTools],
        launches: Rest(&[after("exec", "--package -w"), after("dlx", "--package -w")]), done: ADDED,
        uses: &[("install i ci add remove update", Installs), ("ls list outdated", Looks)],
    }
    "yarn" => Other {
        grammar: Scripts, tasks: SCRIPTS, folder: "--cwd", facts: &[TakesAll, RunsNodeTools],
        launches: Rest(&[after("exec", ""), after("dlx", "-p --package")]),
        uses: &[("install add remove up", Installs)],
    }
    "bun" => Other {
        grammar: Scripts, tasks: SCRIPTS, folder: "--cwd", package: "--filter -F", idle: "-h", facts: &[TakesAll, RunsNodeTools, Interprets],
        launches: Rest(&[after("x", "")]), prints: &[Bun],
        uses: &[("install i add remove", Installs), ("test test:* test-*", Tests), ("build", Builds)],
    }
    "npx" => Other { launches: Rest(&[after("", NPX)]), folder: "--prefix", package: "-w --workspace" }
    "bunx" => Other { launches: Rest(&[LAUNCH]) }
    "nyc" | "c8" => Other { launches: Rest(&[LAUNCH]), valued: "--reporter -r" }

    "node" => Runs { uses: &[("--test", Tests)], facts: &[Interprets, NodeTool, ChecksOneFile, StaysBelow], prints: &[Node, Tap] }
    "tsx" | "ts-node" => Runs { uses: &[("--test", Tests)], facts: &[NodeTool] }
    "deno" => Other {
        grammar: Subcommand, tasks: &[TaskRunner::Deno], task_words: "task", prints: &[Deno], facts: &[Interprets],
        uses: &[
            ("test", Tests), ("check", TypeChecks), ("lint/--fix", Fixes), ("lint", Lints),
            ("fmt/--check", Lints), ("fmt", Formats), ("run", Runs), ("install add", Installs),
        ],
    }

    "jest" => Tests {
        idle: "--listTests --showConfig --init -h -v", facts: &[TakesAll, NodeTool], prints: &[Jest],
    }
    "vitest" => Tests { idle: "list -h -v", facts: &[TakesAll, NodeTool], prints: &[Vitest] }
    "mocha" => Tests {
        idle: "--list-files --list-reporters --list-interfaces -h -V", facts: &[TakesAll, NodeTool],
        prints: &[Mocha],
    }
    "ava" => Tests { idle: "-h", facts: &[TakesAll, NodeTool], prints: &[Ava, Tap] }
    "jasmine" => Tests { facts: &[NodeTool], prints: &[Jasmine] }
    "tap" => Tests { facts: &[NodeTool], prints: &[Tap] }
    "karma" => Tests { facts: &[NodeTool], prints: &[Karma] }
    "web-test-runner" => Tests {}
    "playwright" => Other {
        grammar: Subcommand, idle: "--list -h -V", facts: &[TakesAll, NodeTool],
        uses: &[("test", Tests), ("install", Installs)], prints: &[Playwright],
    }
    "cypress" => Other { grammar: Subcommand, facts: &[NodeTool], uses: &[("run", Tests)], prints: &[Mocha, Cypress] }
    "ng" => Other { grammar: Subcommand, uses: &[("test e2e", Tests), ("build", Builds), ("lint", Lints)] }

    "vite" | "nuxt" | "nuxi" | "next" | "astro" | "gatsby" | "remix" | "react-scripts" => Runs {
        grammar: Subcommand, facts: &[NodeTool],
        uses: &[("test", Tests), ("build generate", Builds), ("check typecheck", TypeChecks), ("lint", Lints)],
    }
    "hugo" => Builds { uses: &[("server", Runs)] }
    "webpack" | "rollup" | "esbuild" | "tsup" | "tsdown" | "parcel" | "rspack" => Builds { facts: &[NodeTool] }
    "testcafe" | "wdio" | "nightwatch" => Tests { facts: &[NodeTool] }
    "xo" | "standard" | "tslint" | "knip" => Lints { uses: &[("--fix", Fixes)], facts: &[NodeTool] }
    "tsc" | "vue-tsc" => TypeChecks {
        folder: "-p --project", idle: "--showConfig --listFilesOnly --init -h -v", valued: "--target -t --module -m --moduleResolution --lib --jsx --outDir", facts: &[TakesAll, NodeTool, ChecksFiles],
    }
    "svelte-check" => TypeChecks {}
    "eslint" => Lints {
        valued: "-c --ext -f --format --rule --parser --plugin --ignore-path --ignore-pattern --max-warnings --cache-location",
        uses: &[("--fix", Fixes)], facts: &[NodeTool],
    }
    "stylelint" | "oxlint" => Lints { uses: &[("--fix", Fixes)] }
    "prettier" => Lints { uses: &[("--write -w", Formats)], facts: &[NodeTool] }
    "biome" => Lints {
        grammar: Subcommand, facts: &[NodeTool],
        uses: &[("format/--write format/--fix", Formats), ("--write --apply --fix", Fixes)],
    }
    "turbo" => Other {
        grammar: Targets, tasks: SCRIPTS, task_words: "run", package: "--filter -F", facts: &[EveryPackage, NodeTool],
    }
    "nx" => Other {
        grammar: Targets, tasks: &[TaskRunner::Nx, TaskRunner::PackageScript], task_words: "run run-many affected",
        task_options: "-t --target --targets", package: "-p --projects", leaves_out: "--exclude", facts: &[EveryPackage, NodeTool],
    }
    "lerna" => Other { grammar: Targets, tasks: SCRIPTS, task_words: "run", package: "--scope", leaves_out: "--ignore", facts: &[EveryPackage] }
    "moon" => Other {
        grammar: Targets, tasks: &[TaskRunner::Moon, TaskRunner::PackageScript], task_words: "run ci check", facts: &[EveryPackage],
    }
}
