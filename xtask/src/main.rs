//! `cargo xtask`: everything a contributor runs.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a program for people at a terminal")]

mod archive;
mod bench;
mod book;
mod ci_reports;
mod clients;
mod cluster;
mod dependencies;
mod distribution;
mod flaky;
mod fuzz;
mod held_stops;
mod links;
mod mutants;
mod needs;
mod npm;
mod other_platforms;
mod packages;
mod pictures;
mod process;
mod python;
mod real;
mod release;
mod scratch;
mod secrets;
mod soak;
mod steps;
mod strings;
mod summaries;
mod tidy;
mod trial;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use clients::{Extent, Generation};
use held_stops::StopCampaign;
use scratch::Scratch;
use scripted_model::form;
use steps::{Done, Steps};
use transcript::Agent;

/// Everything a contributor runs
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Everything that must pass before a change lands: formatting, lints, tests, schemas, a sample of fuzzing
    Test,
    /// Of these, the house rules alone
    Tidy,
    /// The long campaigns in full: kill loops, many processes at once, random turns, older clients, minutes of fuzzing
    /// per target
    Soak(Soak),
    /// Run all test binaries again and again, and add to `target/flaky.json` which of them failed how often
    Flaky {
        /// Runs of all of them
        #[arg(long, default_value_t = 1)]
        times: u32,
        /// Runs at the same time
        #[arg(long, default_value_t = 1)]
        at_once: u32,
        /// Beside four busy processes
        #[arg(long)]
        busy: bool,
    },
    /// Compare what the gate holds in sessions of real people with labels that were given by reading
    Real(real::RealArguments),
    /// Of the tests, those that drive the real clients
    Clients {
        /// With the versions before the current ones
        #[arg(long)]
        previous: bool,
        /// Of this client only; may be given several times
        #[arg(long)]
        agent: Vec<String>,
        /// As many of them as `cargo xtask test` runs
        #[arg(long)]
        sample: bool,
        /// Only those that make the table of clients and MCP tools in `docs/mcp.md`
        #[arg(long, conflicts_with = "sample")]
        mcp: bool,
    },
    /// How many stops of a client are held that have to be: the same turn again and again; prints the rate
    Stops {
        /// Of this client; may be given several times, and is opencode by default, whose holds are a race
        #[arg(long, default_value = "opencode")]
        agent: Vec<String>,
        /// Stops in each way that the client can be set
        #[arg(long, default_value_t = 100)]
        stops: usize,
        /// Clients that run at the same time
        #[arg(long, default_value_t = 2)]
        at_once: usize,
        /// Registered instead of a fresh build
        #[arg(long, value_name = "FILE")]
        program: Option<PathBuf>,
        /// With the versions before the current ones
        #[arg(long)]
        previous: bool,
    },
    /// Of the tests, those that pack the program and install each package into an empty place
    Packages,
    /// Measure; every figure is a ratio against something measured in the same run
    Bench {
        #[command(subcommand)]
        which: Bench,
    },
    /// The servers that runs beyond one machine use, on this one
    Cluster {
        #[command(subcommand)]
        command: cluster::ClusterCommand,
    },
    /// Write the JSON schemas into `schemas/`
    Schemas,
    /// List every text that people and agents can see, for somebody who reads them one by one
    Strings {
        /// Only these crates; all by default
        only: Vec<String>,
    },
    /// Record what the installed test runners print about small projects, for the tests of `outputs`
    Summaries {
        /// Only these projects; all by default
        only: Vec<String>,
    },
    /// Count which secrets of 60 kinds in 8 carriers are found, beside two other scanners, and false alarms over code
    Secrets {
        /// What the samples are drawn by
        #[arg(long, default_value_t = 17)]
        seed: u64,
    },
    /// Build the documents as a book with search, and follow its links
    Book,
    /// Make the pictures in `docs/pictures`, on the screens of the real clients
    Pictures {
        /// Only those of a hold in this client; may be given several times
        #[arg(long)]
        agent: Vec<String>,
        /// Shown instead of a fresh build
        #[arg(long, value_name = "FILE")]
        program: Option<PathBuf>,
    },
    Release(release::ReleaseArguments),
    /// Run a test binary up to the first test that fails
    #[command(hide = true)]
    UntilFailure {
        program: OsString,
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<OsString>,
    },
}

#[derive(Args)]
struct Soak {
    /// Kills of a process that writes, in each test that kills
    #[arg(long, default_value_t = 1000)]
    kills: u32,
    /// Kills of a process that takes a snapshot, of one that restores, and of one that forgets
    #[arg(long, default_value_t = 200)]
    snapshot_kills: u32,
    /// Power cuts while a snapshot is taken
    #[arg(long, default_value_t = 200)]
    snapshot_cuts: u32,
    /// Unchanged files in the repository whose snapshot is measured against `git status`; none leaves it out
    #[arg(long, default_value_t = 1_000_000)]
    snapshot_files: usize,
    /// Kills of a process that commits named paths, of one that pushes, and of one that does a whole autosave
    #[arg(long, default_value_t = 250)]
    autosave_kills: u32,
    /// What the samples of secrets are drawn by
    #[arg(long, default_value_t = 17)]
    secret_seed: u64,
    /// Rounds in which three save on one remote, and merge or rebase
    #[arg(long, default_value_t = 100)]
    saver_rounds: u32,
    /// Kills of supervisors, of stages and of both, in runs
    #[arg(long, default_value_t = 500)]
    run_kills: u32,
    /// Random plans with edits, kills and resumes, compared with an uninterrupted run
    #[arg(long, default_value_t = 1000)]
    random_runs: u32,
    /// The seed of the first of them
    #[arg(long, default_value_t = 0)]
    run_seed: u32,
    /// Random plans that are tried for each fault that is planted in what is run again
    #[arg(long, default_value_t = 60)]
    planted_runs: u32,
    /// Only this one of the faults, such as `modules`
    #[arg(long)]
    fault: Option<String>,
    /// Kills of a database while something is committed
    #[arg(long, default_value_t = 20)]
    store_kills: u32,
    /// Turns of one journal that fifty processes stop at once
    #[arg(long, default_value_t = 100)]
    rounds: u32,
    /// Random turns compared with the disk
    #[arg(long, default_value_t = 2000)]
    turns: u32,
    /// Random sequences compared with the model of what is proven
    #[arg(long, default_value_t = 10_000)]
    ledgers: u32,
    /// The seed of the first of them
    #[arg(long, default_value_t = 0)]
    ledger_seed: u32,
    /// Power cuts on each file system that checkpoints are saved on
    #[arg(long, default_value_t = 500)]
    power_cuts: u32,
    /// Seconds of fuzzing per target
    #[arg(long, default_value_t = 120)]
    fuzz_seconds: u32,
    /// Mutants of the rules and of the table of programs' code that their tests are tried on
    #[arg(long, default_value_t = 300)]
    mutants: usize,
    /// What the mutants are drawn by
    #[arg(long, default_value_t = 15)]
    mutant_seed: u64,
    /// Kills of each: engine, controller, nodes, their helpers, database and bucket, in runs on a cluster
    #[arg(long, default_value_t = 20)]
    cluster_kills: u32,
    /// Packed and installed instead of a program that is built for it
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Only the steps whose name has this in it, such as `snapshot`
    #[arg(long, default_value = "", hide_default_value = true)]
    only: String,
}

#[derive(Subcommand)]
enum Bench {
    /// All of them with few rounds, and one table: each figure beside a peer or a limit of the same run
    All,
    /// Reading transcripts: scaling with the file, memory, speed on a large turn
    Transcript {
        /// Only the speed on transcripts of this client, beside the first three; may be given several times
        #[arg(long)]
        agent: Vec<String>,
    },
    /// The hook against the one git command that it runs, and against an empty program
    Hook {
        /// Rounds of each measurement
        #[arg(long, default_value_t = 200)]
        rounds: usize,
    },
    /// A stop at which a save is due against the same stop without one
    Saves {
        /// Rounds of each measurement
        #[arg(long, default_value_t = 20)]
        rounds: usize,
        /// Files in the repository
        #[arg(long, default_value_t = 50_000)]
        files: usize,
        /// So many of them that nobody has added
        #[arg(long, default_value_t = 30_000)]
        new: usize,
    },
    /// The page of `checkstone serve`: ten thousand turns opened, and an event until it is on the page
    Serve {
        /// Measured instead of a fresh build
        #[arg(long)]
        program: Option<PathBuf>,
        /// Rounds of each measurement
        #[arg(long, default_value_t = 30)]
        rounds: usize,
    },
    /// A phase update against `git rev-parse HEAD` alone, and lists over large archives
    Workflow {
        /// Rounds of each measurement
        #[arg(long, default_value_t = 200)]
        rounds: usize,
    },
    /// A snapshot against `git status`, and against `git add` and `git commit` in a shadow repository
    Snapshot {
        /// Rounds of each measurement
        #[arg(long, default_value_t = 20)]
        rounds: usize,
        /// Files in the repository
        #[arg(long, default_value_t = 50_000)]
        files: usize,
    },
    /// Python stages: a cell against `jupyter_client`, a large output, a resume against loading the files alone
    Kernel {
        /// Round trips in each kernel
        #[arg(long, default_value_t = 300)]
        rounds: usize,
        /// Parquet files that are resumed from
        #[arg(long, default_value_t = 1.0)]
        gigabytes: f64,
    },
    /// A policy over a folder of transcripts, against reading the same bytes alone and against one thread
    Replay {
        /// Rounds of each measurement
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        /// Transcripts of so many megabytes
        #[arg(long, default_value_t = 1024)]
        megabytes: u64,
    },
    /// The estimate of tokens against what `o200k` counts, on texts of many kinds
    Tokens,
    /// Substring matching against the gate on the labelled turns: false holds and missed holds
    Matching,
    /// A supervised command against a bare spawn, and who survives the end of a stage, beside other tools
    Run {
        /// Rounds of each measurement
        #[arg(long, default_value_t = 200)]
        rounds: usize,
        /// Adversarial trees that are killed, for each way of keeping them together
        #[arg(long, default_value_t = 1000)]
        trees: usize,
        /// A built program for the plans beside Snakemake and DVC; without it, it is built as it is handed out
        #[arg(long)]
        program: Option<PathBuf>,
    },
    /// Plans of 1,000 stages beside Snakemake and DVC, also a part of `run`
    Pipelines {
        /// A built program; without it, it is built as it is handed out
        #[arg(long)]
        program: Option<PathBuf>,
    },
    /// Checkpoints: flushes, hashing against `openssl speed`, long lists, large artifacts that have not changed
    Checkpoint,
    /// A bucket against the folder alone: one large artifact, a thousand small ones
    Stores {
        /// A built program with the feature `s3`; without it, it is built
        #[arg(long)]
        program: Option<PathBuf>,
        /// The size of the large artifact
        #[arg(long, default_value_t = 1024)]
        megabytes: usize,
    },
    /// A team's PostgreSQL: events a second beside plain COPY, and kills of senders and database
    Team(bench::team::TeamArguments),
    /// What 50,000 contents in the ledger cost a stop, `verify` over as many files, and the stop hook beside an earlier build
    Ledger(bench::ledger::LedgerArguments),
    /// Runs on a Slurm of two nodes: submissions beside a bare `sbatch`, how soon an end is known, calls for a fan-out of 500
    Cluster {
        /// A built program; without it, it is built as it is handed out
        #[arg(long)]
        program: Option<PathBuf>,
    },
    /// Two builds of the program in turns: the hook, and a replay
    Versions(bench::versions::VersionsArguments),
    /// The end of a turn in each real client, with and without checkstone
    Clients {
        /// Turns of each kind in each client
        #[arg(long, default_value_t = 20)]
        turns: usize,
    },
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Test => test(),
        Command::Tidy => tidy::check().map(drop),
        Command::Soak(counts) => soak(&counts),
        Command::Flaky { times, at_once, busy } => flaky::run(times, at_once, busy),
        Command::Real(arguments) => real::run(&arguments),
        Command::Clients { previous, agent, sample, mcp } => {
            let extent = match (sample, mcp) {
                (true, _) => Extent::Sample,
                (_, true) => Extent::McpTable,
                _ => Extent::Everything,
            };
            real_clients(previous, extent, &agent)
        }
        Command::Stops { agent, stops, at_once, previous, program } => {
            named_hosts(&agent).and_then(|hosts| {
                let (generation, program) = (Generation::of_flag(previous), program.as_deref());
                held_stops::run(&StopCampaign { hosts: &hosts, generation, stops, at_once, program })
                    .map(drop)
            })
        }
        Command::Packages => installed_packages(),
        Command::Bench { which } => bench(which),
        Command::Cluster { command } => cluster::run(command),
        Command::Schemas => write_schemas(),
        Command::Strings { only } => strings::list(&only),
        Command::Summaries { only } => summaries::record(&only),
        Command::Secrets { seed } => secrets::run(seed).map(|_| ()),
        Command::Book => book::build().map(drop),
        Command::Pictures { agent, program } => {
            named_hosts(&agent).and_then(|hosts| pictures::make(program.as_deref(), &hosts))
        }
        Command::Release(arguments) => release::run(&arguments),
        Command::UntilFailure { program, arguments } => mutants::run_until_failure(&program, &arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn bench(which: Bench) -> Result<(), String> {
    let rows = match which {
        Bench::All => return bench::all::run_all(matching),
        Bench::Matching => return matching(),
        Bench::Tokens => return tokens(),
        Bench::Transcript { agent } => named_hosts(&agent).and_then(|hosts| bench::transcript::run(&hosts)),
        Bench::Hook { rounds } => bench::hook::run(rounds),
        Bench::Saves { rounds, files, new } => bench::saves::run(rounds, files, new),
        Bench::Serve { program, rounds } => bench::serve::run(program, rounds),
        Bench::Workflow { rounds } => bench::workflow::run(rounds),
        Bench::Snapshot { rounds, files } => bench::snapshot::run(rounds, files),
        Bench::Kernel { rounds, gigabytes } => bench::kernel::run(rounds, gigabytes),
        Bench::Replay { rounds, megabytes } => bench::replay::run(rounds, megabytes),
        Bench::Run { rounds, trees, program } => bench::run::run(rounds, trees, program),
        Bench::Pipelines { program } => bench::pipelines::run(program),
        Bench::Cluster { program } => bench::cluster::run(program),
        Bench::Checkpoint => bench::checkpoint::run(),
        Bench::Stores { program, megabytes } => bench::stores::run(program, megabytes),
        Bench::Team(arguments) => bench::team::run(&arguments),
        Bench::Ledger(arguments) => bench::ledger::run(&arguments),
        Bench::Versions(arguments) => bench::versions::run(&arguments),
        Bench::Clients { turns } => bench::clients::run(turns),
    };
    rows.map(|_| ())
}

/// The table is printed by a test, which also holds us to it.
fn matching() -> Result<(), String> {
    let name = "corpus_by_substrings_against_the_gate";
    process::run(process::test_target("gate").args([name, "--", "--nocapture"])).map(|_| ())
}

/// So is this one.
fn tokens() -> Result<(), String> {
    let name = "p6_the_estimate_is_near_what_a_tokenizer_counts";
    process::run(process::test_target("workflow").args([name, "--", "--nocapture"])).map(|_| ())
}

/// The test that compares them writes them instead.
fn write_schemas() -> Result<(), String> {
    let mut test = process::test_target("checkstone");
    process::run(test.arg("schemas::").env("CHECKSTONE_WRITES_SCHEMAS", "1")).map(|_| ())
}

/// Seconds of fuzzing per target in a test run: enough to try the kept corpus and a little more.
const FUZZ_SAMPLE: u32 = 4;

fn test() -> Result<(), String> {
    let mut steps = Steps::new();
    std::thread::scope(|scope| {
        // Downloads leave the processors idle, and nothing up to the lints needs them.
        let installing = scope.spawn(|| {
            let installed = (needs::check(), python::check());
            // Where this fails, the clients' own step tries again and says why.
            let _ = clients::install_current();
            installed
        });
        steps.run("formatting", || process::cargo(&["fmt", "--all", "--check"]));
        steps.run("formatting of the hosts", format_of_hosts);
        steps.run("lints", lints);
        let (needs, python) = installing.join().unwrap_or_else(|_| {
            let why = || Err("the installation panicked".to_owned());
            (why(), why())
        });
        steps.run("what the tests need", || needs);
        steps.run("Python for the tests", || python);
    });
    // The labelled turns come next, and the clients' binary does nothing without the clients.
    let later = ["--no-fail-fast", "--", "--skip", "corpus"];
    steps.run("tests", || {
        let mut tests = process::cargo_command();
        process::run(Scratch::new().given_to(tests.args(process::ALL_TESTS).args(later)))
    });
    // Their counts are worth seeing.
    steps.run("labelled turns", || {
        process::run(process::test_target("gate").args(["corpus", "--", "--nocapture"]))
    });
    std::thread::scope(|scope| {
        // These steps wait for servers and clients for most of their time.
        let building = scope.spawn(fuzz::build);
        steps.run("runs on a cluster", || cluster::test_slurm(&[], &["run::cluster"], &[]));
        steps.run("real clients", || clients::test(Generation::Current, Extent::Sample, &Agent::ALL));
        steps.run("a database and a bucket", || cluster::test_stores(&[]));
        steps.run("packages, installed", trial::sample);
        steps.run("tidy", tidy::check);
        steps.run("fuzzing sample", || {
            building.join().unwrap_or_else(|_| Err("the build panicked".to_owned()))?;
            fuzz::run_all(FUZZ_SAMPLE)
        });
    });
    steps.finish()
}

/// Of everything there is, and then of what `cargo run --release -- demo` builds.
fn lints() -> Result<Done, String> {
    for features in [["--all-targets", "--all-features"].as_slice(), &[]] {
        let quietly = ["clippy", "--workspace", "--quiet"].iter().chain(features);
        process::cargo(&quietly.chain(&["--", "-D", "warnings"]).copied().collect::<Vec<_>>())?;
    }
    Ok(Done::Passed)
}

fn soak(counts: &Soak) -> Result<(), String> {
    let mut steps = Steps::only(&counts.only);
    steps.run("dependencies", dependencies::check);
    steps.run("other platforms", other_platforms::check);
    steps.run("a build without Python stages", || {
        process::cargo(&["test", "--quiet", "-p", "run", "--test", "run", "without_python"])
    });
    steps.run("faults and power cuts of checkpoints", || soak::checkpoints(counts.power_cuts));
    steps.run("kills and many processes", || soak::journal(counts.kills, counts.rounds));
    steps.run("kills of snapshots and restores", || {
        soak::snapshots(counts.snapshot_kills, counts.snapshot_cuts)
    });
    steps.run("a snapshot of very many files", || match counts.snapshot_files {
        0 => Ok(Done::Skipped("no files were asked for".to_owned())),
        files => bench::unchanged::run(files, 7),
    });
    steps.run("secrets that are found", || secrets::run(counts.secret_seed));
    steps.run("saves: savers, pushes and kills", || {
        soak::autosave(counts.autosave_kills, counts.saver_rounds)
    });
    steps.run("a database and a bucket: contenders and kills", || {
        soak::stores(counts.rounds, counts.store_kills)
    });
    steps.run("kills of runs", || soak::runs(counts.run_kills));
    steps.run("faults of runs", soak::run_faults);
    steps.run("kills on a cluster", || soak::cluster(counts.cluster_kills));
    steps.run("random runs", || soak::random_runs(counts.random_runs, counts.run_seed));
    steps.run("planted faults", || {
        soak::planted_faults(counts.planted_runs, counts.run_seed, counts.fault.as_deref())
    });
    steps.run("random turns", || soak::changes(counts.turns));
    steps.run("random ledgers", || soak::ledgers(counts.ledgers, counts.ledger_seed));
    steps.run("mutants of the rules and of the table of programs", || {
        mutants::run(counts.mutants, counts.mutant_seed)
    });
    steps.run("the clients: everything", || {
        clients::test(Generation::Current, Extent::Everything, &Agent::ALL)
    });
    steps.run("the clients' previous versions", || {
        clients::test(Generation::Previous, Extent::Everything, &Agent::ALL)
    });
    steps.run("stops that have to be held", || {
        let hosts: Vec<Agent> = Agent::ALL.into_iter().filter(|host| !form(*host).ways.is_empty()).collect();
        let generation = Generation::Current;
        held_stops::run(&StopCampaign { hosts: &hosts, generation, stops: 100, at_once: 2, program: None })
    });
    steps.run("packages, built and installed", || trial::whole(counts.program.as_deref()));
    steps.run("reports of ci and attest, read by others", ci_reports::read_by_others);
    steps.run("the book", book::build);
    steps.run("fuzzing", || fuzz::all(counts.fuzz_seconds));
    steps.finish()
}

/// `cargo fmt` does not look into modules that a macro declares.
fn format_of_hosts() -> Result<Done, String> {
    let mut rustfmt = std::process::Command::new("rustfmt");
    rustfmt.args(["--check", "--edition", "2024"]);
    for host in Agent::ALL {
        for folder in tidy::host_folders::FOLDERS {
            let folder = root().join(folder).join(host.name());
            let files = fs_err::read_dir(&folder).map_err(|error| error.to_string())?;
            let files = files.filter_map(Result::ok).map(|file| file.path());
            rustfmt.args(files.filter(|file| file.extension().is_some_and(|extension| extension == "rs")));
        }
        rustfmt.arg(root().join(tidy::host_folders::CASES).join(host.name()).with_extension("rs"));
    }
    process::run(&mut rustfmt)
}

fn real_clients(previous: bool, extent: Extent, named: &[String]) -> Result<(), String> {
    let hosts = if named.is_empty() { Agent::ALL.to_vec() } else { named_hosts(named)? };
    let mut steps = Steps::new();
    steps.run("what the tests need", needs::check);
    steps.run("real clients", || clients::test(Generation::of_flag(previous), extent, &hosts));
    steps.finish()
}

fn named_hosts(names: &[String]) -> Result<Vec<Agent>, String> {
    let named = |name: &String| Agent::named(name).ok_or_else(|| format!("no client is called `{name}`"));
    names.iter().map(named).collect()
}

fn installed_packages() -> Result<(), String> {
    let mut steps = Steps::new();
    steps.run("packages, installed", trial::sample);
    steps.finish()
}

/// The root of the checkout.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a shell takes them.
    fn words(text: &str) -> Vec<&str> {
        let parts = text.split('"').enumerate();
        let words = parts.flat_map(|(number, part)| match number % 2 {
            0 => part.split_whitespace().collect(),
            _ => vec![part],
        });
        words.collect()
    }

    /// What the documents tell contributors to type can be typed.
    #[test]
    fn the_tasks_in_the_documents_are_understood() {
        let docs = fs_err::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
        let named =
            ["README.md", "CONTRIBUTING.md", "LIMITS.md", "ARCHITECTURE.md"].map(|name| root().join(name));
        let mut count = 0;
        for file in docs.chain(named).filter(|file| file.extension().is_some_and(|ending| ending == "md")) {
            for line in fs_err::read_to_string(&file).unwrap().lines() {
                for task in line.split("cargo xtask ").skip(1) {
                    let end = task.find(['`', '#']).unwrap_or(task.len());
                    let words = words(task.get(..end).unwrap_or_default());
                    let parsed = Arguments::try_parse_from(["cargo xtask"].into_iter().chain(words));
                    assert!(parsed.is_ok(), "{}: {task}: {}", file.display(), parsed.err().unwrap());
                    count += 1;
                }
            }
        }
        assert!(count > 60, "only {count} tasks were found");
    }
}
