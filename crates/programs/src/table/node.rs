//! JavaScript and TypeScript: package managers, their runners of installed tools, and those tools.

use super::Deed::{self, *};
use super::Fact::*;
use super::Grammar::*;
use super::Launches::Rest;
use super::{Done, LAUNCH, Program, after, on, on_done};
use crate::runner_summary::Runner::*;

const NPX: &str = "-p --package -c --call";
const ADDED: Done = Done { well: &["added #", "up to date"], badly: "npm error" };

programs! {
    "npm" => Other {
        grammar: Scripts, folder: "--prefix -C", package: "-w --workspace", facts: &[TakesAll],
        launches: Rest(&[after("exec", NPX), after("x", NPX)]),
        uses: &[on_done("install i ci add", Installs, ADDED), on("uninstall update", Installs), on("ls view outdated", Looks)],
    }
    "pnpm" => Other {
        grammar: Scripts, folder: "-C --dir --prefix", package: "--filter -F", facts: &[TakesAll, RunsNodeTools],
        launches: Rest(&[after("exec", "--package -w"), after("dlx", "--package -w")]),
        uses: &[on_done("install i ci add", Installs, ADDED), on("remove update", Installs), on("ls list outdated", Looks)],
    }
    "yarn" => Other {
        grammar: Scripts, folder: "--cwd", facts: &[TakesAll, RunsNodeTools],
        launches: Rest(&[after("exec", ""), after("dlx", "-p --package")]),
        uses: &[on("install add remove up", Installs)],
    }
    "bun" => Other {
        grammar: Scripts, folder: "--cwd", package: "--filter -F", idle: "-h", facts: &[TakesAll, RunsNodeTools, Interprets],
        launches: Rest(&[after("x", "")]), prints: &[Bun],
        uses: &[on("install i add remove", Installs), on("test test:* test-*", Tests), on("build", Builds)],
    }
    "npx" => Other { launches: Rest(&[after("", NPX)]), folder: "--prefix", package: "-w --workspace" }
    "bunx" => Other { launches: Rest(&[LAUNCH]) }
    "nyc" | "c8" => Other { launches: Rest(&[LAUNCH]), valued: "--reporter -r" }

    "node" => Runs { uses: &[on("--test", Tests)], facts: &[Interprets, NodeTool], prints: &[Node, Tap] }
    "tsx" | "ts-node" => Runs { uses: &[on("--test", Tests)], facts: &[NodeTool] }
    "deno" => Other {
        grammar: Subcommand, prints: &[Deno], facts: &[Interprets],
        uses: &[
            on("test", Tests), on("check", TypeChecks), on("lint/--fix", Fixes), on("lint", Lints),
            on("fmt/--check", Lints), on("fmt", Formats), on("run", Runs), on("install add", Installs),
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
    "ava" => Tests { idle: "-h", facts: &[TakesAll, NodeTool], prints: &[Tap] }
    "tap" => Tests { facts: &[NodeTool], prints: &[Tap] }
    "karma" => Tests { facts: &[NodeTool] }
    "web-test-runner" => Tests {}
    "playwright" => Other {
        grammar: Subcommand, idle: "--list -h -V", facts: &[TakesAll, NodeTool],
        uses: &[on("test", Tests), on("install", Installs)],
    }
    "cypress" => Other { grammar: Subcommand, facts: &[NodeTool], uses: &[on("run", Tests)], prints: &[Mocha] }
    "ng" => Other { grammar: Subcommand, uses: &[on("test e2e", Tests), on("build", Builds), on("lint", Lints)] }

    "tsc" => TypeChecks { facts: &[TakesAll, NodeTool] }
    "vue-tsc" | "svelte-check" => TypeChecks {}
    "eslint" => Lints { uses: &[on("--fix", Fixes)], facts: &[NodeTool] }
    "stylelint" | "oxlint" => Lints { uses: &[on("--fix", Fixes)] }
    "prettier" => Lints { uses: &[on("--write -w", Formats)], facts: &[NodeTool] }
    "biome" => Lints {
        grammar: Subcommand, facts: &[NodeTool],
        uses: &[on("format/--write format/--fix", Formats), on("--write --apply --fix", Fixes)],
    }
    "turbo" | "nx" => Other {
        grammar: Targets, package: "--filter -F -p --projects", facts: &[NodeTool],
    }
    "lerna" => Other { grammar: Targets, package: "--scope" }
}
