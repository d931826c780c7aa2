//! Random plans, random edits of them and of what they read, SIGKILL at random instants, and resumes: what is published in the
//! end is what an uninterrupted run of the last plan makes.

mod sketch;

use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sandbox::waiting::at_moment;
use sandbox::{Answer, RunToEnd as _};

use super::Project;
use super::kills::{Random, alive};
use sketch::Sketch;

/// The long campaign sets how many there are, and with which seed they begin.
#[test]
fn a_run_ends_with_what_an_uninterrupted_one_makes() {
    let number = |name: &str, usual: u64| std::env::var(name).map_or(usual, |text| text.parse().unwrap());
    let first = number("CHECKSTONE_RUN_SEED", 0);
    let last = first + number("CHECKSTONE_SOAK_RUNS", 10);
    let next = AtomicU64::new(first);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= last {
                        return;
                    }
                    play(seed);
                }
            });
        }
    });
}

/// Tells the seed and what was done, which is printed if the test fails.
struct Story {
    seed: u64,
    steps: Vec<String>,
    /// The first one, and the last one.
    plans: Vec<String>,
}

impl Drop for Story {
    fn drop(&mut self) {
        println!("CHECKSTONE_RUN_SEED={} CHECKSTONE_SOAK_RUNS=1\n{}", self.seed, self.steps.join("\n"));
        if std::thread::panicking() {
            println!("{}", self.plans.join("\n"));
        }
    }
}

fn play(seed: u64) {
    let mut random = Random::of_seed(seed);
    let mut story = Story { seed, steps: Vec::new(), plans: Vec::new() };
    let mut sketch = Sketch::new(&mut random);
    let project = Project::new("");
    sketch.write(&project);
    story.plans.push(sketch.plan());
    for _ in 0..1 + random.below(4) {
        // Some come to their end: then everything is there to become stale.
        if random.below(3) == 0 {
            finished(&project, &sketch, seed, &arguments(&project, &sketch, "r1", "2"));
            story.steps.push("r1 to its end".to_owned());
        } else {
            story.steps.push(killed(&project, &sketch, "r1", &mut random));
        }
        for _ in 0..1 + random.below(2) {
            story.steps.push(sketch.edit(&mut random, &project));
        }
        sketch.write(&project);
    }
    story.plans.push(sketch.plan());

    let finished = |arguments: &[String]| finished(&project, &sketch, seed, arguments);
    finished(&arguments(&project, &sketch, "r1", "2"));
    assert_eq!(alive(&project), Vec::<String>::new(), "seed {seed}");
    let mut fresh = ["run", "--id", "fresh", "--fresh"].map(str::to_owned).to_vec();
    fresh.extend(sketch.set());
    finished(&fresh);
    let expected = project.published_by("fresh");
    // Stages that are no longer in the plan have left what they made.
    let mut resumed = project.published_by("r1");
    let is_of_plan = |path: &String| {
        let stage = path.split('/').next();
        expected.iter().any(|(expected, _)| expected.split('/').next() == stage)
    };
    resumed.retain(|(path, _)| is_of_plan(path));
    assert_eq!(shown(&resumed), shown(&expected), "seed {seed}: the resumed run");
    // What others made is taken over, which may be interrupted as well.
    if random.below(2) == 0 {
        story.steps.push(killed(&project, &sketch, "taken", &mut random));
    }
    finished(&arguments(&project, &sketch, "taken", "2"));
    assert_eq!(shown(&project.published_by("taken")), shown(&expected), "seed {seed}: a new run");
    let outlook = finished(&["resume".to_owned(), "r1".to_owned(), "--dry-run".to_owned()]).stdout;
    let is_run = |line: &&str| {
        !line.ends_with("  as it was") && line.split("  ").all(|part| !part.trim().starts_with("left out: "))
    };
    let runs: Vec<&str> = outlook.lines().filter(is_run).collect();
    let count = outlook.lines().filter(|line| line.ends_with("  as it was")).count();
    assert_eq!(runs, [format!("0 of {} would run", text::counted(count, "stage"))], "seed {seed}");
}

fn finished(project: &Project, sketch: &Sketch, seed: u64, arguments: &[String]) -> Answer {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let answer = sketch.prepared(project.checkstone(&arguments)).answer();
    assert_eq!(answer.code, Some(0), "seed {seed}: {arguments:?} {answer:?}");
    answer
}

/// Goes on with a run until it is killed, and says when that was.
fn killed(project: &Project, sketch: &Sketch, run: &str, random: &mut Random) -> String {
    let jobs = (1 + random.below(3)).to_string();
    let arguments = arguments(project, sketch, run, &jobs);
    let moment = random.below(sketch.longest());
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut command = sketch.prepared(project.checkstone(&words));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let over = at_moment(Duration::from_millis(moment), || {
        let over = child.try_wait().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        over
    });
    let ended = over.map_or("killed".to_owned(), |status| status.to_string());
    format!("{} for {moment} ms: {ended}", arguments.join(" "))
}

/// Goes on with a run; before it is recorded it has not begun.
fn arguments(project: &Project, sketch: &Sketch, run: &str, jobs: &str) -> Vec<String> {
    let record = project.path(&format!("reports/study/checkpoints/{run}/events.jsonl"));
    let record = std::fs::read(record).unwrap_or_default();
    let begin: &[&str] = match record.contains(&b'\n') {
        true => &["resume", run],
        false => &["run", "--id", run],
    };
    let jobs = ["--jobs", jobs];
    let words = begin.iter().chain(&jobs).map(|word| (*word).to_owned());
    words.chain(sketch.set()).collect()
}

fn shown(files: &[(String, Vec<u8>)]) -> Vec<String> {
    let is_declared = |path: &str| {
        let name = path.split('/').nth(1);
        name.is_some_and(|name| ["out.txt", "lines.txt", "parts"].contains(&name))
    };
    let declared = files.iter().filter(|(path, _)| is_declared(path));
    declared.map(|(path, content)| format!("{path}: {}", String::from_utf8_lossy(content))).collect()
}
