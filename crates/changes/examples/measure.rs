//! Measures the question of a stop, from start to change set, against the bare git command it runs; interleaved, so
//! that both see the same machine.
//!
//! `cargo run --release -p changes --example measure -- [FILES] [ROUNDS]`

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::indexing_slicing)]

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use changes::{Request, Settings};

fn main() {
    let numbers: Vec<usize> = std::env::args().skip(1).map(|number| number.parse().unwrap()).collect();
    let files = numbers.first().copied().unwrap_or(1000);
    let rounds = numbers.get(1).copied().unwrap_or(200);
    let folder = tempfile::tempdir().unwrap();
    let repo = folder.path();
    make_repository(repo, files);

    let settings = Settings::default();
    let baseline = changes::start(repo, &settings).unwrap().baseline(now_ns()).unwrap();
    for number in 0..5 {
        fs_err::write(repo.join(format!("0/{number}")), "changed\n").unwrap();
        fs_err::write(repo.join(format!("new-{number}")), "new\n").unwrap();
    }
    let (mut bare, mut ours, mut prompt) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..rounds {
        bare.push(timed(|| {
            let output = git(repo, &changes::STATUS_ARGUMENTS).stderr(Stdio::piped()).output().unwrap();
            assert!(output.status.success());
        }));
        ours.push(timed(|| {
            let request = Request::Turn { baseline: Some(&baseline), touched: None };
            let changes = changes::start(repo, &settings).unwrap().change_set(request).unwrap();
            assert_eq!(changes.files.len(), 10);
        }));
        prompt.push(timed(|| {
            let baseline = changes::start(repo, &settings).unwrap().baseline(now_ns()).unwrap();
            assert_eq!(baseline.files.len(), 10);
        }));
    }
    println!("{files} files, 10 changed, {rounds} interleaved rounds");
    let git = report("bare git status", &mut bare, None);
    report("stop (start to change set)", &mut ours, Some(git));
    report("prompt (start to baseline)", &mut prompt, Some(git));
}

fn make_repository(repo: &Path, files: usize) {
    assert!(git(repo, &["init", "--quiet"]).status().unwrap().success());
    for number in 0..files {
        let path = repo.join(format!("{}/{number}", number / 100));
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(path, format!("{number}\n").repeat(100)).unwrap();
    }
    for arguments in
        [&["add", "."][..], &["-c", "user.name=A", "-c", "user.email=a", "commit", "-qm", "first"]]
    {
        assert!(git(repo, arguments).status().unwrap().success());
    }
}

fn git(repo: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(repo).env("GIT_OPTIONAL_LOCKS", "0");
    command
}

fn timed(what: impl FnOnce()) -> Duration {
    let start = Instant::now();
    what();
    start.elapsed()
}

fn report(name: &str, times: &mut [Duration], against: Option<(f64, f64)>) -> (f64, f64) {
    times.sort();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100].as_secs_f64() * 1000.0;
    let (p10, p50) = (at(10), at(50));
    let ratio = against.map(|(git10, git50)| format!("   ratio {:.2} / {:.2}", p10 / git10, p50 / git50));
    println!("{name:28} p10 {p10:7.2} ms   p50 {p50:7.2} ms{}", ratio.unwrap_or_default());
    (p10, p50)
}

fn now_ns() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}
