//! Contents in a bucket: put and read back, fetched, freed, and claimed by one of many.

use std::fs::File;
use std::io::Write as _;
use std::time::Duration;

use bucket::{BucketError, ContentBucket, FetchedContent, NewContent};

use crate::servers::{alone, bucket_access, count, crash, shared};

fn bucket() -> ContentBucket {
    ContentBucket::open(&bucket_access(), &["contents", &files::random_id()]).unwrap()
}

/// A content of so many bytes, and its name.
fn content(bytes: usize, seed: u8) -> (String, File) {
    let text: Vec<u8> = (0..bytes).map(|place| (place as u8).wrapping_mul(31).wrapping_add(seed)).collect();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&text).unwrap();
    (checkpoint::hash::of_bytes(&text), file)
}

fn new((sha256, file): &(String, File), is_executable: bool) -> NewContent {
    NewContent { sha256: sha256.clone(), file: file.try_clone().unwrap(), is_executable }
}

#[test]
fn contents_come_back_as_they_were_and_are_freed() {
    let Some(_servers) = shared() else { return };
    let bucket = bucket();
    bucket.check().unwrap();
    // The large one goes in several pieces.
    let (small, large) = (content(1000, 1), content(40 << 20, 2));
    bucket.put(vec![new(&small, true), new(&large, false)]).unwrap();
    // Twice is once.
    bucket.put(vec![new(&small, true)]).unwrap();
    for ((sha256, _), is_executable) in [(&small, true), (&large, false)] {
        let to = tempfile::tempfile().unwrap();
        assert_eq!(bucket.fetch(sha256, &to).unwrap(), Some(FetchedContent { is_executable }));
        assert_eq!(checkpoint::hash::of_file(&to).unwrap().sha256, *sha256);
    }
    assert_eq!(bucket.fetch(&"0".repeat(64), &tempfile::tempfile().unwrap()).unwrap(), None);
    // What is young stays: somebody may be about to commit it.
    assert_eq!(bucket.free(&|_| false).unwrap(), (0, 0));
    let is_large = |sha256: &str| sha256 == large.0;
    assert_eq!(bucket.free_older_than(Duration::ZERO, &is_large).unwrap(), (1, 1000));
    assert_eq!(bucket.fetch(&small.0, &tempfile::tempfile().unwrap()).unwrap(), None);
    // A content that is not what its name says is none.
    let (_, other) = content(1000, 3);
    let wrong = NewContent { sha256: small.0.clone(), file: other, is_executable: false };
    assert!(matches!(bucket.put(vec![wrong]), Err(BucketError::Damaged { .. })));
    assert_eq!(bucket.fetch(&small.0, &tempfile::tempfile().unwrap()).unwrap(), None);
}

/// What was exchanged for a run goes when it is old, whoever left it, unless it is needed.
#[test]
fn parts_of_a_bucket_are_freed_but_those_that_are_needed() {
    let Some(_servers) = shared() else { return };
    let bucket = bucket();
    let names =
        ["study/r1/attempts/a/job.json", "study/r2/ab/content", "größe 5%/r1/arrays/b.json", "gone/r7/c"];
    names.iter().for_each(|name| bucket.put_object(name, b"something").unwrap());
    let parts = [["study", "r1"], ["study", "r2"], ["größe 5%", "r1"], ["study", "r3"]];
    let mut asked = Vec::new();
    let mut free = |grace| {
        bucket.free_parts(grace, &parts, &mut |place| {
            asked.push(place);
            place != 1
        })
    };
    assert_eq!(free(bucket::GRACE).unwrap(), 0);
    assert_eq!(free(Duration::ZERO).unwrap(), 2);
    asked.sort_unstable();
    assert_eq!(asked, [0, 1, 2], "each once, and only of what could go");
    let left = [bucket.object(names[0]).unwrap(), bucket.object(names[2]).unwrap()];
    assert_eq!(left, [Some(b"something".to_vec()), Some(b"something".to_vec())]);
    assert_eq!([bucket.object(names[1]).unwrap(), bucket.object(names[3]).unwrap()], [None, None]);
}

#[test]
fn one_of_sixteen_claims_a_name() {
    let Some(_servers) = shared() else { return };
    let bucket = bucket();
    for round in 0..count("CHECKSTONE_SOAK_CLAIMS", 2) {
        let name = format!("claim-{round}");
        let claimed: Vec<bool> = std::thread::scope(|scope| {
            let claims: Vec<_> = (0..16).map(|_| scope.spawn(|| bucket.claim(&name).unwrap())).collect();
            claims.into_iter().map(|claim| claim.join().unwrap()).collect()
        });
        assert_eq!(claimed.iter().filter(|claimed| **claimed).count(), 1, "round {round}");
    }
}

/// Requests are tried again until the service is back.
#[test]
fn what_was_put_survives_a_killed_service() {
    let Some(_servers) = alone() else { return };
    let bucket = bucket();
    let contents: Vec<_> = (0..20).map(|seed| content(5000, seed)).collect();
    bucket.put(contents.iter().map(|content| new(content, false)).collect()).unwrap();
    let more: Vec<_> = (20..40).map(|seed| content(5000, seed)).collect();
    let putting = more.iter().map(|content| new(content, false)).collect();
    let bucket = std::thread::scope(|scope| {
        let put = scope.spawn(|| bucket.put(putting));
        crash("seaweedfs");
        put.join().unwrap().unwrap();
        &bucket
    });
    for (sha256, _) in contents.iter().chain(&more) {
        let found = bucket.fetch(sha256, &tempfile::tempfile().unwrap()).unwrap();
        assert_eq!(found, Some(FetchedContent { is_executable: false }));
    }
}
