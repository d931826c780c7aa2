//! Random plans, random edits of them and of what they read, SIGKILL at random instants, and resumes: what is published in the
//! end is what an uninterrupted run of the last plan makes.

mod sketch;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sandbox::waiting::{at_moment, wait_for};
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
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= last {
                        return;
                    }
                    if catch_unwind(AssertUnwindSafe(|| play(seed))).is_err() {
                        wrong.lock().unwrap().push(seed);
                    }
                }
            });
        }
    });
    assert_eq!(wrong.into_inner().unwrap(), Vec::<u64>::new(), "the seeds that went wrong");
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
    let rounds = random.below(3);
    for round in 0..=rounds {
        // Mostly everything is there in the end, to become stale.
        let is_last = round == rounds;
        match random.below(8) {
            0 | 1 => story.steps.push(killed(&project, &sketch, "r1", &mut random)),
            2..5 if !is_last => story.steps.push(killed(&project, &sketch, "r1", &mut random)),
            5 if !is_last => story.steps.push(edited(&project, &mut sketch, &mut random)),
            _ => {
                finished(&project, &sketch, seed, &arguments(&project, &sketch, "r1", "2"));
                story.steps.push("r1 to its end".to_owned());
            }
        }
        // One alone is hidden by no other.
        for _ in 0..1 + random.below(3) / 2 {
            story.steps.push(sketch.edit(&mut random, &project, last_begun(&project)));
        }
        sketch.write(&project);
    }
    if random.below(3) == 0 {
        story.steps.push(killed(&project, &sketch, "r1", &mut random));
    }
    story.plans.push(sketch.plan());
    let mut expected = compared(&project, &sketch, seed, "fresh-1");
    // Now that all of it is right, one thing at a time goes stale.
    for round in 2..4 {
        story.steps.push(sketch.edit(&mut random, &project, None));
        sketch.write(&project);
        if random.below(4) == 0 {
            story.steps.push(killed(&project, &sketch, "r1", &mut random));
        }
        story.plans.push(sketch.plan());
        expected = compared(&project, &sketch, seed, &format!("fresh-{round}"));
    }
    let finished = |arguments: &[String]| finished(&project, &sketch, seed, arguments);
    // What others made is taken over, which may be interrupted as well.
    if random.below(2) == 0 {
        story.steps.push(killed(&project, &sketch, "taken", &mut random));
        finished(&arguments(&project, &sketch, "taken", "2"));
        assert_eq!(shown(&project.published_by("taken")), expected, "seed {seed}: a new run");
    }
    let outlook = finished(&["resume".to_owned(), "r1".to_owned(), "--dry-run".to_owned()]).stdout;
    let is_run = |line: &&str| {
        !line.ends_with("  as it was") && line.split("  ").all(|part| !part.trim().starts_with("left out: "))
    };
    let runs: Vec<&str> = outlook.lines().filter(is_run).collect();
    let count = outlook.lines().filter(|line| line.ends_with("  as it was")).count();
    assert_eq!(runs, [format!("0 of {} would run", text::counted(count, "stage"))], "seed {seed}");
}

/// Goes on with the run to its end, and compares what it published with what an uninterrupted one does, which is returned.
fn compared(project: &Project, sketch: &Sketch, seed: u64, uninterrupted: &str) -> Vec<String> {
    finished(project, sketch, seed, &arguments(project, sketch, "r1", "2"));
    assert_eq!(alive(project), Vec::<String>::new(), "seed {seed}");
    let mut fresh = ["run", "--id", uninterrupted, "--fresh"].map(str::to_owned).to_vec();
    fresh.extend(sketch.set());
    finished(project, sketch, seed, &fresh);
    let expected = project.published_by(uninterrupted);
    // Stages that are no longer in the plan have left what they made.
    let mut resumed = project.published_by("r1");
    let is_of_plan = |path: &String| {
        let stage = path.split('/').next();
        expected.iter().any(|(expected, _)| expected.split('/').next() == stage)
    };
    resumed.retain(|(path, _)| is_of_plan(path));
    let expected = shown(&expected);
    assert_eq!(shown(&resumed), expected, "seed {seed}: the resumed run and {uninterrupted}");
    expected
}

fn finished(project: &Project, sketch: &Sketch, seed: u64, arguments: &[String]) -> Answer {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let answer = sketch.prepared(project.checkstone(&arguments)).answer();
    assert_eq!(answer.code, Some(0), "seed {seed}: {arguments:?} {answer:?}");
    answer
}

/// Goes on with a run until it is killed, and says when that was.
fn killed(project: &Project, sketch: &Sketch, run: &str, random: &mut Random) -> String {
    let (mut child, mut story) = begun(project, sketch, run, random);
    let over = at_moment(Duration::from_millis(random.below(30)), || {
        let over = child.try_wait().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        over
    });
    story.push_str(&over.map_or("killed".to_owned(), |status| status.to_string()));
    story
}

/// Goes on with a run; meanwhile something that it reads is changed.
fn edited(project: &Project, sketch: &mut Sketch, random: &mut Random) -> String {
    let (mut child, mut story) = begun(project, sketch, "r1", random);
    story.push_str(&sketch.edit_files(random));
    sketch.write(project);
    format!("{story}: {}", child.wait().unwrap())
}

/// Goes on with a run, and returns after so many events of it, or at its end.
fn begun(project: &Project, sketch: &Sketch, run: &str, random: &mut Random) -> (Child, String) {
    let jobs = (1 + random.below(3)).to_string();
    let arguments = arguments(project, sketch, run, &jobs);
    let events = || record(project, run).iter().filter(|byte| **byte == b'\n').count();
    let more = usize::try_from(random.below(sketch.events())).unwrap();
    let wanted = events() + more;
    // What was saved half-way is there to be gone on with.
    let saved = || String::from_utf8_lossy(&record(project, run)).matches("\"midStage\":true").count();
    let is_half_way = random.below(3) == 0;
    let saved_before = saved();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut command = sketch.prepared(project.checkstone(&words));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for("the events of a run", || {
        let is_far = if is_half_way { saved() > saved_before } else { events() >= wanted };
        is_far || child.try_wait().unwrap().is_some()
    });
    (child, format!("{}, after {more} events: ", arguments.join(" ")))
}

fn record(project: &Project, run: &str) -> Vec<u8> {
    let path = project.path(&format!("reports/study/checkpoints/{run}/events.jsonl"));
    std::fs::read(path).unwrap_or_default()
}

/// The number of the stage that was begun last.
fn last_begun(project: &Project) -> Option<usize> {
    let record = String::from_utf8(record(project, "r1")).ok()?;
    let line = record.lines().rev().find(|line| line.contains("\"to\":\"RUNNING\""))?;
    let event: serde_json::Value = serde_json::from_str(line).ok()?;
    event["stageId"].as_str()?.get(1..3)?.parse().ok()
}

/// Goes on with a run; before it is recorded it has not begun.
fn arguments(project: &Project, sketch: &Sketch, run: &str, jobs: &str) -> Vec<String> {
    let begin: &[&str] = match record(project, run).contains(&b'\n') {
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
