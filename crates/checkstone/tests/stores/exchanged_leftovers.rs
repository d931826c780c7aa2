//! What runs left in the bucket on the way to their nodes: freed where nobody needs it any more.

use std::time::Duration;

use bucket::ContentBucket;
use checkpoint::RemoteError;
use checkpoint::layout::Layout;
use run::exchange::{Exchange, ExchangeStore};
use run::hold::{self, HoldKind};
use run::pruning::{self, RunRetention};

use crate::project::Project;
use crate::servers::{bucket_access, shared, variable};

/// A part of the real bucket in which everything is old.
#[derive(Debug)]
struct OldExchange(ContentBucket);

impl Exchange for OldExchange {
    fn of_run(&self, _: &str, _: &str) -> Result<std::sync::Arc<dyn ExchangeStore>, RemoteError> {
        Err("no run is removed".into())
    }

    fn free(&self, runs: &[[&str; 2]], is_needed: &mut dyn FnMut(usize) -> bool) -> Result<(), RemoteError> {
        self.0.free_parts(Duration::ZERO, runs, is_needed)?;
        Ok(())
    }

    fn words(&self) -> Vec<String> {
        Vec::new()
    }
}

#[test]
fn what_a_living_run_or_attempt_needs_stays() {
    let Some(_servers) = shared() else { return };
    let project = Project::new("CHECKSTONE_STORE", &variable("CHECKSTONE_STORE").unwrap());
    for run in ["r1", "r2", "r3"] {
        let done = project.run(&["run", "--id", run]);
        assert_eq!(done.code, Some(0), "{done:?}");
    }
    // Its engine was killed while a stage ran.
    let record = project.path("reports/study/checkpoints/r1/events.jsonl");
    let text = fs_err::read_to_string(&record).unwrap();
    let (before, after) = text.split_once(r#""to":"RUNNING""#).unwrap();
    let end_of_line = before.len() + r#""to":"RUNNING""#.len() + after.find('\n').unwrap() + 1;
    fs_err::write(&record, &text[..end_of_line]).unwrap();
    let root = project.path("").canonicalize().unwrap();
    let taken = hold::take(&Layout::new(&root, "study", "r3").unwrap(), &HoldKind::default()).unwrap();
    let bucket = ContentBucket::open(&bucket_access(), &["leftovers", &files::random_id()]).unwrap();
    let names = ["r1", "r2", "r3", "r4"].map(|run| format!("study/{run}/attempts/token/job.json"));
    names.iter().for_each(|name| bucket.put_object(name, b"{}").unwrap());
    let exchange = OldExchange(bucket);
    let prune = || {
        let retention = RunRetention { keep: 5, older_than: None };
        pruning::prune(&root, retention, &HoldKind::default(), Some(&exchange), &[]).unwrap();
        names.clone().map(|name| exchange.0.object(&name).unwrap().is_some())
    };
    assert_eq!(prune(), [true, false, true, false]);
    drop(taken);
    assert_eq!(prune(), [true, false, false, false]);
}
