//! The long counts of the crates' own tests. Each test takes its count from the environment and is short
//! without it.

use crate::cluster;
use crate::process::{self, test_target};
use crate::root;
use crate::steps::Done;

/// Processes on one journal: SIGKILL at any instant, and fifty that stop the same turns at once.
pub(crate) fn journal(kills: u32, rounds: u32) -> Result<Done, String> {
    println!("{kills} kills in each test that kills, {rounds} turns stopped by fifty processes at once");
    for package in ["files", "journal"] {
        let mut test = test_target(package);
        test.env("CHECKSTONE_SOAK_KILLS", kills.to_string())
            .env("CHECKSTONE_SOAK_ROUNDS", rounds.to_string());
        process::run(&mut test)?;
    }
    Ok(Done::Passed)
}

/// Random turns in real repositories, compared with what is on the disk.
pub(crate) fn changes(turns: u32) -> Result<Done, String> {
    println!("{turns} random turns");
    for package in ["changes", "keeping"] {
        let mut test = test_target(package);
        // It is compiled in: a range of another size is another build of the tests.
        test.env("CHANGES_SEEDS", format!("0..{turns}"));
        process::run(&mut test)?;
    }
    Ok(Done::Passed)
}

/// Random stories of several sessions, compared with the model of what is proven.
pub(crate) fn ledgers(sequences: u32, first: u32) -> Result<Done, String> {
    let play = |target: &str, seed: u32, sequences: u32| {
        println!("{sequences} random sequences from seed {seed} on");
        let mut test = test_target(target);
        test.env("CHECKSTONE_LEDGER_SEED", seed.to_string());
        test.env("CHECKSTONE_SOAK_LEDGERS", sequences.to_string());
        process::run(test.arg("ledger_model::"))
    };
    const PIECE: u32 = 500;
    for seed in (first..first + sequences).step_by(PIECE as usize) {
        play("stop", seed, PIECE.min(first + sequences - seed))?;
    }
    // The program itself is slower to ask.
    play("checkstone", first, sequences.div_ceil(100))
}

/// SIGKILL at so many instants of a snapshot, of a restore and of a prune; and power cuts.
pub(crate) fn snapshots(kills: u32, cuts: u32) -> Result<Done, String> {
    println!("{kills} kills of snapshots, of restores and of prunes each, {cuts} power cuts");
    let mut test = test_target("checkstone");
    test.env("CHECKSTONE_SOAK_KILLS", kills.to_string()).env("CHECKSTONE_SOAK_CUTS", cuts.to_string());
    test.args(["--", "--nocapture"]);
    let kills = "snapshot::a_kill_at_any_instant_leaves_git_as_it_was";
    process::run(test.args([kills, "snapshot_faults::a_power_cut_at_any_instant_leaves_git_as_it_was"]))
}

/// SIGKILL at so many instants of a commit of named paths, of a push, and of a whole autosave; three savers on one remote for so
/// many rounds; and every state of a remote that a push meets.
pub(crate) fn autosave(kills: u32, rounds: u32) -> Result<Done, String> {
    println!("3 savers on one remote, {rounds} rounds; the table of push states");
    for (package, tests) in
        [("checkstone", &["autosave::merges::"][..]), ("keeping", &["pushes::", "push_states::"])]
    {
        let mut test = test_target(package);
        test.env("CHECKSTONE_SOAK_ROUNDS", rounds.to_string());
        process::run(test.args(["--", "--nocapture"]).args(tests))?;
    }
    println!("{kills} kills of commits (twice), {kills} of pushes, {kills} of whole autosaves");
    for (package, tests) in [("keeping", "kills::"), ("checkstone", "autosave::kills::")] {
        let mut test = test_target(package);
        test.env("CHECKSTONE_SOAK_KILLS", kills.to_string());
        process::run(test.args([tests, "--", "--nocapture"]))?;
    }
    Ok(Done::Passed)
}

/// Sixteen who want the same lease, in a folder and in a database, ten times as many rounds; and so many kills of the database.
pub(crate) fn stores(rounds: u32, kills: u32) -> Result<Done, String> {
    let rounds = (rounds * 10).to_string();
    println!("{rounds} rounds of sixteen contenders for each kind of lease, {kills} kills of the database");
    process::run(
        test_target("lease").env("CHECKSTONE_SOAK_ROUNDS", &rounds).env("CHECKSTONE_SOAK_PAUSES", "20"),
    )?;
    cluster::test_stores(&[("CHECKSTONE_SOAK_ROUNDS", rounds), ("CHECKSTONE_SOAK_KILLS", kills.to_string())])
}

/// So many kills of each kind in runs of a hundred stages on a cluster: of the engine, of Slurm's daemons and helpers, of the database
/// and of the bucket. What was done is noted in `target`, and the next time it goes on from there.
pub(crate) fn cluster(kills: u32) -> Result<Done, String> {
    let noted = root().join("target/cluster-campaign.json");
    println!("{kills} kills of each kind, counted in `{}`; remove it to begin anew", noted.display());
    let variables = [
        ("CHECKSTONE_SOAK_CLUSTER_KILLS", kills.to_string()),
        ("CHECKSTONE_SOAK_CLUSTER_NOTES", noted.display().to_string()),
    ];
    let tests = ["run::cluster::a_job_that", "run::cluster_kills"];
    cluster::test_slurm(&["postgresql"], &tests, &variables)
}

/// SIGKILL at so many instants of runs: of the supervisor, of a stage, of both.
pub(crate) fn runs(kills: u32) -> Result<Done, String> {
    println!("{kills} kills of supervisors and stages");
    let mut test = test_target("checkstone");
    test.env("CHECKSTONE_SOAK_KILLS", kills.to_string());
    process::run(test.arg("run::kills::a_kill_at_any_instant_loses_nothing"))
}

/// Random plans, edits, kills and resumes, compared with what an uninterrupted run makes.
pub(crate) fn random_runs(sequences: u32, first: u32) -> Result<Done, String> {
    println!("{sequences} random sequences from seed {first} on");
    let mut test = test_target("checkstone");
    test.env("CHECKSTONE_RUN_SEED", first.to_string()).env("CHECKSTONE_SOAK_RUNS", sequences.to_string());
    process::run(test.args(["run::random::a_run_ends", "--", "--nocapture"]))
}

/// Faults that are planted in what is run again, one after the other: each has to be found in so many random sequences.
pub(crate) fn planted_faults(sequences: u32, first: u32, only: Option<&str>) -> Result<Done, String> {
    println!("up to {sequences} random sequences for each planted fault, from seed {first} on");
    let mut test = test_target("checkstone");
    test.env("CHECKSTONE_RUN_SEED", first.to_string()).env("CHECKSTONE_SOAK_PLANTED", sequences.to_string());
    test.envs(only.map(|fault| ("CHECKSTONE_SOAK_FAULT", fault)));
    process::run(test.args(["run::random::planted::", "--", "--nocapture"]))
}

/// SIGKILL and a failing disk at every system call of the checkpoint commands, and so many power cuts on each file system.
pub(crate) fn checkpoints(power_cuts: u32) -> Result<Done, String> {
    println!("every system call of the checkpoint commands, {power_cuts} power cuts on each file system");
    let mut test = test_target("checkstone");
    test.env("CHECKSTONE_SOAK_FAULTS", "all").env("CHECKSTONE_SOAK_POWER_CUTS", power_cuts.to_string());
    process::run(test.args(["checkpoint::", "--", "--nocapture"]))
}

/// SIGKILL and a failing disk at every system call with which `run` and `resume` write.
pub(crate) fn run_faults() -> Result<Done, String> {
    let mut test = test_target("checkstone");
    test.env("CHECKSTONE_SOAK_FAULTS", "all");
    process::run(test.args(["run::faults::", "--", "--nocapture"]))
}
