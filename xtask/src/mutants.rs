//! Whether the tests of the gate and of the table of programs notice a fault: mutants of the rules and of the table's
//! code, drawn by a seed, each built and tested in a clone of the last commit. A call stops within the hour and adds what
//! it found to a file, so that several calls make one campaign, over days and over changes of other files.

use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, setrlimit};
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

/// More virtual memory than tests need, and less than a loop without an end would take.
const MOST_MEMORY: u64 = 6 << 30;

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

/// An outcome, and what it holds for.
#[derive(Serialize, Deserialize)]
struct KeptOutcome {
    outcome: Outcome,
    /// Of the mutated file: another content has other mutants.
    blob: String,
    /// Whose tests were run: those of another commit may find what these missed.
    commit: String,
}

/// What has been found out so far, by the names of mutants.
#[derive(Default, Serialize, Deserialize)]
#[serde(transparent)]
struct Campaign(BTreeMap<String, KeptOutcome>);

impl Campaign {
    fn outcome(&self, mutant: &Mutant) -> Option<Outcome> {
        self.0.get(&mutant.name).map(|kept| kept.outcome)
    }
}

#[derive(Deserialize)]
struct Mutant {
    /// Begins with the file.
    name: String,
    package: String,
    file: String,
    /// In the list of all.
    #[serde(skip)]
    place: usize,
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
        let outcome = tree.outcome(mutant, drawn.len())?;
        let name = Outcome::ALL.iter().find(|(one, _)| *one == outcome).map_or("", |(_, name)| name);
        println!("{:5.0} s  {name}: {}", began.elapsed().as_secs_f32(), mutant.name);
        let blob = tree.blobs.get(&mutant.file).cloned().unwrap_or_default();
        campaign.0.insert(mutant.name.clone(), KeptOutcome { outcome, blob, commit: tree.commit.clone() });
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
    let known = drawn.iter().map_while(|mutant| Some((mutant, campaign.outcome(mutant)?)));
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
        false => drawn.iter().find(|mutant| campaign.outcome(mutant).is_none()),
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
    /// The contents of the mutated files, by their paths.
    blobs: HashMap<String, String>,
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
        let mut list = vec!["ls-tree", "-r", "--format=%(path) %(objectname)", "HEAD"];
        let sources = PLACES.map(|(package, _)| format!("crates/{package}/src"));
        list.extend(sources.iter().map(String::as_str));
        let listed = git(&folder, &list)?;
        let pairs = listed.lines().filter_map(|line| line.rsplit_once(' '));
        let blobs = pairs.map(|(path, blob)| (path.to_owned(), blob.to_owned())).collect();
        Ok(Self { folder, target, program, commit, blobs })
    }

    fn cargo_mutants(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["mutants", "--no-config", "--in-place", "--baseline", "skip", "--colors", "never"])
            .args(["--level", "error", "--no-times", "--annotations", "none", "--output"])
            .arg(&self.target)
            .current_dir(&self.folder)
            .args(PLACES.iter().flat_map(|(package, _)| ["--package", package]))
            .args(EXCEPT.iter().flat_map(|files| ["--exclude", files]))
            .env("CARGO_TARGET_DIR", self.target.join("build"))
            .env("CARGO_INCREMENTAL", "1")
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("INSTA_UPDATE", "no");
        command
    }

    fn mutants(&self) -> Result<Vec<Mutant>, String> {
        let mut command = self.cargo_mutants();
        command.args(["--list", "--json"]);
        let mut mutants: Vec<Mutant> =
            serde_json::from_str(&process::output(&mut command)?).map_err(|error| error.to_string())?;
        mutants.iter_mut().enumerate().for_each(|(place, mutant)| mutant.place = place);
        Ok(mutants)
    }

    /// Tries one package after the other, so that what the nearest tests find costs no more builds.
    fn outcome(&self, mutant: &Mutant, total: usize) -> Result<Outcome, String> {
        let this = std::env::current_exe().map_err(|error| error.to_string())?;
        let runner = format!("--config=target.'cfg(all())'.runner=['{}', 'until-failure']", this.display());
        let packages = PLACES.iter().find(|(package, _)| *package == mutant.package).map(|(_, tests)| *tests);
        for package in packages.unwrap_or_default() {
            let mut command = self.cargo_mutants();
            command
                // By its place: the options that choose by name leave in all mutants that delete a field.
                .args(["--test-package", package, "--shard", &format!("{}/{total}", mutant.place)])
                .args(["--build-timeout", "1200", "--timeout", "300", "--cargo-test-arg=--tests"])
                .arg(format!("--cargo-arg={runner}"))
                // Long tests leave room for short ones, which mostly find it.
                .env("RUST_TEST_THREADS", "4");
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

    /// What earlier calls found out, as far as it still holds.
    fn campaign(&self) -> Result<Campaign, String> {
        let mut campaign: Campaign = match fs_err::read(self.file()) {
            Ok(bytes) => {
                serde_json::from_slice(&bytes).map_err(|error| format!("`target/mutants.json`: {error}"))?
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Campaign::default(),
            Err(error) => return Err(error.to_string()),
        };
        campaign.0.retain(|name, kept| {
            let blob = name.split(':').next().and_then(|file| self.blobs.get(file));
            blob == Some(&kept.blob) && (kept.outcome != Outcome::Missed || kept.commit == self.commit)
        });
        Ok(campaign)
    }

    fn keep(&self, campaign: &Campaign) -> Result<(), String> {
        let bytes = serde_json::to_vec_pretty(campaign).map_err(|error| error.to_string())?;
        fs_err::write(self.file(), bytes).map_err(|error| error.to_string())
    }
}

/// Runs a test binary, and ends it at the first test that fails: the others would say no more.
pub(crate) fn run_until_failure(program: &OsString, arguments: &[OsString]) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let limit = Rlimit { current: Some(MOST_MEMORY), maximum: Some(MOST_MEMORY) };
    setrlimit(Resource::As, limit).map_err(|error| failed(error.into()))?;
    let mut child = Command::new(program).args(arguments).stdout(Stdio::piped()).spawn().map_err(failed)?;
    let lines = child.stdout.take().into_iter().flat_map(|stdout| BufReader::new(stdout).lines());
    for line in lines.map_while(Result::ok) {
        println!("{line}");
        if line.ends_with(" ... FAILED") {
            child.kill().map_err(failed)?;
            break;
        }
    }
    match child.wait().map_err(failed)? {
        status if status.success() => Ok(()),
        status => Err(format!("the tests ended with {status}")),
    }
}
