//! Whether runs can go beyond this machine: the lease in the project's folder, the database and the bucket, each wanted by sixteen
//! at once, with how long a round trip takes and how far the clocks are apart.

use std::fmt::Display;
use std::path::Path;
use std::time::Duration;

use lease::{FolderLease, LeaseError};
use run::hold::HoldKind;

use super::finding::{Finding, Surroundings};
use crate::error::CommandError;
use crate::run_storage;

const CONTENDERS: usize = 16;
const ROUNDS: usize = 20;
/// Longer than anything here takes.
const LENGTH: Duration = Duration::from_secs(600);

pub(crate) fn findings(root: &Path) -> Result<Vec<Finding>, CommandError> {
    let settings = run_storage::settings()?;
    let mut findings = vec![of_folder(root)];
    findings.extend(of_database(&settings.hold(root)?));
    match &settings.store {
        Some(address) => findings.push(of_bucket(address, &settings.project(root))),
        None => findings.push(Finding::note(
            Surroundings::Cluster,
            "bucket",
            "none; artifacts stay in the project's folder",
        )),
    }
    Ok(findings)
}

/// Tries to get what all want; none for who is too late.
type Contender<T, E> = Box<dyn Fn() -> Result<Option<T>, E> + Sync>;

/// How many of sixteen got what they all wanted, in each round.
fn winners<T: Send, E: Display + Send>(
    rounds: usize,
    mut contend: impl FnMut(usize) -> Result<Contender<T, E>, E>,
) -> Result<Vec<usize>, String> {
    let mut won = Vec::new();
    for round in 0..rounds {
        let take = contend(round).map_err(|error| error.to_string())?;
        let taken: Vec<Result<Option<T>, E>> = std::thread::scope(|scope| {
            let contenders: Vec<_> = (0..CONTENDERS).map(|_| scope.spawn(&take)).collect();
            contenders.into_iter().filter_map(|contender| contender.join().ok()).collect()
        });
        let taken = taken.into_iter().collect::<Result<Vec<_>, E>>().map_err(|error| error.to_string())?;
        won.push(taken.iter().flatten().count());
    }
    Ok(won)
}

fn judged(check: &'static str, won: Result<Vec<usize>, String>, what: &str) -> Finding {
    match won {
        Ok(won) if won.iter().all(|winners| *winners == 1) => {
            let rounds = won.len();
            let text = format!("{what}: exactly one owner among {CONTENDERS} in {rounds} of {rounds} rounds");
            Finding::good(Surroundings::Cluster, check, text)
        }
        Ok(won) => {
            let wrong = won.iter().filter(|winners| **winners != 1).count();
            let text = format!(
                "{what}: not exactly one owner among {CONTENDERS} in {wrong} of {} rounds",
                won.len()
            );
            Finding::problem(Surroundings::Cluster, check, text)
                .advice("do not run anything there from two hosts")
        }
        Err(error) => Finding::problem(Surroundings::Cluster, check, format!("{what}: {error}")),
    }
}

/// In a scratch folder beside the project's own, on the same file system.
fn of_folder(root: &Path) -> Finding {
    let place = match tempfile::Builder::new().prefix(".checkstone-doctor-").tempdir_in(root) {
        Ok(place) => place,
        Err(error) => return judged("lease", Err(error.to_string()), "the project's folder"),
    };
    let won = winners(ROUNDS, |round| {
        let folder = place.path().join(round.to_string());
        let made = fs_err::create_dir(&folder);
        made.map_err(|error| LeaseError::File(files::FileError::failed("make", &folder)(error)))?;
        let take = move || match FolderLease::take_now(&folder, LENGTH) {
            Ok(lease) => Ok(Some(lease)),
            Err(LeaseError::Held { .. }) => Ok(None),
            Err(error) => Err(error),
        };
        Ok(Box::new(take) as Contender<FolderLease, LeaseError>)
    });
    judged("lease", won, "the project's folder")
}

#[cfg(feature = "postgres")]
fn of_database(hold: &HoldKind) -> Vec<Finding> {
    use database::{Connection, DatabaseError, HeldRun, RunKey, clock, forget_runs};
    let HoldKind::Database(setting) = hold else {
        return vec![Finding::note(
            Surroundings::Cluster,
            "database",
            "none; records stay in the project's folder",
        )];
    };
    let what = setting.address.to_string();
    let project = format!("checkstone doctor {}", files::random_id());
    let opened = Connection::open(&setting.address).and_then(|mut connection| {
        database::migrate(&mut connection)?;
        let clock = clock(&mut connection)?;
        Ok((connection, clock))
    });
    let (mut connection, clock) = match opened {
        Ok(opened) => opened,
        Err(error) => return vec![judged("database", Err(text::error_chain(&error)), &what)],
    };
    let won = winners(ROUNDS, |round| {
        let key = RunKey { project: project.clone(), title: "doctor".to_owned(), run: round.to_string() };
        let address = setting.address.clone();
        let take = move || {
            let taken = HeldRun::take_now(Connection::open(&address)?, key.clone(), LENGTH)?;
            Ok(taken.ok())
        };
        Ok(Box::new(take) as Contender<HeldRun, DatabaseError>)
    });
    let judged = judged("database", won, &what);
    let forgotten = forget_runs(&mut connection, &project);
    let mut findings = vec![judged];
    if let Err(error) = forgotten {
        findings.push(Finding::problem(Surroundings::Cluster, "database", text::error_chain(&error)));
    }
    let (ahead, milliseconds) = (clock.ahead, clock.round_trip.as_secs_f64() * 1e3);
    // It decides nothing; who reads times of both is told.
    let text = format!(
        "the database's is {ahead:+.1} s from this machine's; a round trip takes {milliseconds:.1} ms"
    );
    findings.push(match ahead.abs() < 5.0 {
        true => Finding::good(Surroundings::Cluster, "clock", text),
        false => Finding::note(Surroundings::Cluster, "clock", text),
    });
    findings
}

#[cfg(not(feature = "postgres"))]
fn of_database(_hold: &HoldKind) -> Vec<Finding> {
    vec![Finding::note(Surroundings::Cluster, "database", "none; records stay in the project's folder")]
}

#[cfg(feature = "s3")]
fn of_bucket(address: &str, project: &str) -> Finding {
    use crate::bucket_store::BucketStore;
    use bucket::BucketError;
    /// Services answer some of those who come at the same instant only after a pause.
    const BUCKET_ROUNDS: usize = 3;
    let opened = BucketStore::new(address, project).map_err(|error| error.to_string()).and_then(|store| {
        store.part(&[".doctor", &files::random_id()]).map_err(|error| text::error_chain(&error))
    });
    let won = opened.and_then(|bucket| {
        let bucket = std::sync::Arc::new(bucket);
        bucket.check().map_err(|error| text::error_chain(&error))?;
        let won = winners(BUCKET_ROUNDS, |round| {
            let bucket = std::sync::Arc::clone(&bucket);
            let take = move || Ok(bucket.claim(&round.to_string())?.then_some(()));
            Ok(Box::new(take) as Contender<(), BucketError>)
        });
        let removed = bucket.remove_objects("").map_err(|error| text::error_chain(&error));
        removed.and(won)
    });
    judged("bucket", won, address)
}

#[cfg(not(feature = "s3"))]
fn of_bucket(address: &str, _project: &str) -> Finding {
    judged("bucket", Err("this build of checkstone cannot use a bucket".to_owned()), address)
}
