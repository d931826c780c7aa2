//! Whether the tests of the gate and of the table of programs notice a fault: mutants of the rules and of the table's
//! code, drawn by a seed, each built and tested in a clone of the last commit. A call stops within the hour and adds what
//! it found to a file, so that several calls make one campaign.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::dependencies;
use crate::process;
use crate::root;
use crate::steps::Done;

/// A call begins no mutant after this time.
const LONGEST: Duration = Duration::from_secs(55 * 60);

/// Of a hundred mutants that can be built, so many must be found.
const WANTED: usize = 90;

/// What is mutated, and the packages whose tests may notice it, the nearest first.
const PLACES: [(&str, &[&str]); 2] = [("gate", &["gate"]), ("programs", &["programs", "gate"])];

/// What the gate reads its settings with is no rule.
const EXCEPT: [&str; 2] = ["crates/gate/src/policy.rs", "crates/gate/src/policy/**"];

/// More virtual memory than a build needs, and less than a loop without an end would take.
const KILOBYTES: u32 = 12_000_000;

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    Caught,
    /// The tests did not come to an end.
    TimedOut,
    Missed,
    /// It could not be built.
    Unviable,
}

impl Outcome {
    const ALL: [(Self, &str); 4] = [
        (Self::Caught, "caught"),
        (Self::TimedOut, "timed out"),
        (Self::Missed, "missed"),
        (Self::Unviable, "could not be built"),
    ];
}

/// What has been found out about the sources of one commit.
#[derive(Default, PartialEq, Serialize, Deserialize)]
struct Campaign {
    /// Of the mutated sources: other sources have other mutants.
    sources: String,
    /// Of the commit whose tests missed the missed ones: other tests may find them.
    commit: String,
    outcomes: BTreeMap<String, Outcome>,
}

#[derive(Deserialize)]
struct Mutant {
    name: String,
    package: String,
}

/// What `cargo mutants` found out about the mutants of one call.
#[derive(Deserialize)]
struct MutantCounts {
    caught: u32,
    missed: u32,
    timeout: u32,
}

pub(crate) fn run(count: usize, seed: u64) -> Result<Done, String> {
    let began = Instant::now();
    let tree = Tree::at_last_commit()?;
    let mut drawn = tree.mutants()?;
    drawn.sort_by_cached_key(|mutant| Sha256::digest(format!("{seed} {}", mutant.name)));
    println!("seed {seed}, {count} of {} mutants of commit {}", drawn.len(), tree.commit);
    let mut campaign = tree.campaign()?;
    while let Some(mutant) = next(&drawn, &campaign, count) {
        if began.elapsed() > LONGEST {
            let known = print(&drawn, &campaign, count);
            return Ok(Done::Skipped(format!("{known} of {count} mutants so far; run it again to go on")));
        }
        let outcome = tree.outcome(mutant)?;
        let name = Outcome::ALL.iter().find(|(one, _)| *one == outcome).map_or("", |(_, name)| name);
        println!("{:5.0} s  {name}: {}", began.elapsed().as_secs_f32(), mutant.name);
        campaign.outcomes.insert(mutant.name.clone(), outcome);
        tree.keep(&campaign)?;
    }
    let known = print(&drawn, &campaign, count);
    let missed =
        considered(&drawn, &campaign, count).filter(|(_, outcome)| *outcome == Outcome::Missed).count();
    match (known - missed) * 100 >= WANTED * known {
        true => Ok(Done::Passed),
        false => Err(format!("{missed} of {known} mutants were missed")),
    }
}

/// The first drawn mutants with what is known of them, as many as it takes to have `count` that can be built.
fn considered<'a>(
    drawn: &'a [Mutant],
    campaign: &'a Campaign,
    count: usize,
) -> impl Iterator<Item = (&'a Mutant, Outcome)> {
    let known = drawn.iter().map_while(|mutant| Some((mutant, *campaign.outcomes.get(&mutant.name)?)));
    let mut built = 0;
    known.take_while(move |(_, outcome)| {
        let is_wanted = built < count;
        built += usize::from(*outcome != Outcome::Unviable);
        is_wanted
    })
}

/// The next mutant to be tried.
fn next<'a>(drawn: &'a [Mutant], campaign: &Campaign, count: usize) -> Option<&'a Mutant> {
    let is_built = |(_, outcome): &(&Mutant, Outcome)| *outcome != Outcome::Unviable;
    match considered(drawn, campaign, count).filter(is_built).count() == count {
        true => None,
        false => drawn.iter().find(|mutant| !campaign.outcomes.contains_key(&mutant.name)),
    }
}

/// Prints the counts and the missed mutants; how many could be built.
fn print(drawn: &[Mutant], campaign: &Campaign, count: usize) -> usize {
    let of = |outcome| considered(drawn, campaign, count).filter(move |(_, one)| *one == outcome);
    for (mutant, _) in of(Outcome::Missed) {
        println!("missed: {}", mutant.name);
    }
    let counts = Outcome::ALL.map(|(outcome, name)| format!("{} {name}", of(outcome).count()));
    println!("{}", counts.join(", "));
    considered(drawn, campaign, count).count() - of(Outcome::Unviable).count()
}

/// A clone in which sources are changed, built and put back.
struct Tree {
    folder: PathBuf,
    /// What was built before, and the notes of `cargo mutants`.
    target: PathBuf,
    program: PathBuf,
    commit: String,
}

impl Tree {
    fn at_last_commit() -> Result<Self, String> {
        let program = dependencies::installed("cargo-mutants", "27.1.0")?;
        let target = root().join("target/mutants");
        let folder = target.join("tree");
        fs_err::create_dir_all(&target).map_err(|error| error.to_string())?;
        let git = |folder: &Path, arguments: &[&str]| {
            process::output(Command::new("git").current_dir(folder).args(arguments))
                .map(|said| said.trim().to_owned())
        };
        let commit = git(&root(), &["rev-parse", "HEAD"])?;
        if !folder.is_dir() {
            git(
                &target,
                &["clone", "--quiet", "--shared", "--no-checkout", &root().to_string_lossy(), "tree"],
            )?;
        }
        git(&folder, &["fetch", "--quiet", "origin", &commit])?;
        // A call that was interrupted leaves a mutant behind.
        git(&folder, &["checkout", "--quiet", "--force", "--detach", &commit])?;
        Ok(Self { folder, target, program, commit })
    }

    fn cargo_mutants(&self) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -v {KILOBYTES}; exec \"$0\" \"$@\"")]).arg(&self.program);
        command
            .args(["mutants", "--no-config", "--in-place", "--baseline", "skip", "--colors", "never"])
            .args(["--level", "error", "--no-times", "--annotations", "none", "--output"])
            .arg(&self.target)
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", self.target.join("build"))
            .env("CARGO_INCREMENTAL", "1")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("INSTA_UPDATE", "no");
        command
    }

    fn mutants(&self) -> Result<Vec<Mutant>, String> {
        let mut command = self.cargo_mutants();
        command.args(["--list", "--json"]);
        command.args(PLACES.iter().flat_map(|(package, _)| ["--package", package]));
        command.args(EXCEPT.iter().flat_map(|files| ["--exclude", files]));
        serde_json::from_str(&process::output(&mut command)?).map_err(|error| error.to_string())
    }

    /// Tries one package after the other, so that what the nearest tests find costs no more builds.
    fn outcome(&self, mutant: &Mutant) -> Result<Outcome, String> {
        let packages = PLACES.iter().find(|(package, _)| *package == mutant.package).map(|(_, tests)| *tests);
        for package in packages.unwrap_or_default() {
            let mut command = self.cargo_mutants();
            command
                .args(["--package", &mutant.package, "--test-package", package, "--re"])
                .arg(format!("^{}$", regex::escape(&mutant.name)))
                .args(["--build-timeout", "1200", "--timeout", "300", "--cargo-test-arg=--tests"]);
            // It fails for mutants that were not caught; what it wrote says more.
            let told = command.output().map_err(|error| error.to_string())?;
            let notes = fs_err::read(self.target.join("mutants.out/outcomes.json"))
                .map_err(|error| error.to_string())?;
            let counts: MutantCounts = serde_json::from_slice(&notes).map_err(|error| error.to_string())?;
            match counts {
                MutantCounts { caught: 0, missed: 0, timeout: 0 } if told.status.success() => {
                    return Ok(Outcome::Unviable);
                }
                MutantCounts { caught: 1, .. } => return Ok(Outcome::Caught),
                MutantCounts { timeout: 1, .. } => return Ok(Outcome::TimedOut),
                MutantCounts { missed: 1, .. } => {}
                _ => return Err(String::from_utf8_lossy(&told.stderr).trim().to_owned()),
            }
        }
        Ok(Outcome::Missed)
    }

    fn file(&self) -> PathBuf {
        root().join("target/mutants.json")
    }

    /// What earlier calls found out, less what another commit may have changed.
    fn campaign(&self) -> Result<Campaign, String> {
        let trees = PLACES.map(|(package, _)| format!("HEAD:crates/{package}/src"));
        let sources =
            process::output(Command::new("git").current_dir(&self.folder).arg("rev-parse").args(trees))?
                .replace('\n', " ");
        let mut campaign: Campaign = match fs_err::read(self.file()) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map_err(|error| format!("`target/mutants.json`: {error}"))?
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Campaign::default(),
            Err(error) => return Err(error.to_string()),
        };
        if campaign.sources != sources {
            campaign.outcomes.clear();
        }
        if campaign.commit != self.commit {
            campaign.outcomes.retain(|_, outcome| *outcome != Outcome::Missed);
        }
        Ok(Campaign { sources, commit: self.commit.clone(), ..campaign })
    }

    fn keep(&self, campaign: &Campaign) -> Result<(), String> {
        let bytes = serde_json::to_vec_pretty(campaign).map_err(|error| error.to_string())?;
        fs_err::write(self.file(), bytes).map_err(|error| error.to_string())
    }
}
