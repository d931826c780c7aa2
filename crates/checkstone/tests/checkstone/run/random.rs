//! Random plans, random edits of them and of what they read, SIGKILL at random instants, and resumes: what is published in the
//! end is what an uninterrupted run of the last plan makes.

#[cfg(feature = "planted-faults")]
mod planted;
mod sketch;

use std::collections::BTreeSet;
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
                    let mut story = Story::new(seed);
                    let played = catch_unwind(AssertUnwindSafe(|| play(&mut story, None)));
                    story.tell(!matches!(played, Ok(Ok(()))));
                    if let Ok(Err(difference)) = &played {
                        println!("{difference}");
                    }
                    if !matches!(played, Ok(Ok(()))) {
                        wrong.lock().unwrap().push(seed);
                    }
                }
            });
        }
    });
    assert_eq!(wrong.into_inner().unwrap(), Vec::<u64>::new(), "the seeds that went wrong");
}

fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).map_or(usual, |text| text.parse().unwrap())
}

/// What was done, and with which seed.
struct Story {
    seed: u64,
    steps: Vec<String>,
    /// The first one, and the last one.
    plans: Vec<String>,
}

impl Story {
    fn new(seed: u64) -> Self {
        Self { seed, steps: Vec::new(), plans: Vec::new() }
    }

    fn tell(&self, with_plans: bool) {
        println!("CHECKSTONE_RUN_SEED={} CHECKSTONE_SOAK_RUNS=1\n{}", self.seed, self.steps.join("\n"));
        if with_plans {
            println!("{}", self.plans.join("\n"));
        }
    }
}

/// What went wrong, in words.
type Difference = String;

/// Plays the sequence of a seed, with a fault that is planted in what the program overlooks.
fn play(story: &mut Story, planted: Option<&str>) -> Result<(), Difference> {
    let mut random = Random::of_seed(story.seed);
    let mut sketch = Sketch::new(&mut random, planted);
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
                finished(&project, &sketch, &arguments(&project, &sketch, "r1", "2"))?;
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
    if random.below(2) == 0 {
        story.steps.extend(without_session(&project, &mut sketch, &mut random)?);
    }
    story.plans.push(sketch.plan());
    let mut expected = compared(&project, &sketch, "fresh-1")?;
    // Now that all of it is right, one thing at a time goes stale.
    for round in 2..4 {
        story.steps.push(sketch.edit(&mut random, &project, None));
        sketch.write(&project);
        if random.below(4) == 0 {
            story.steps.push(killed(&project, &sketch, "r1", &mut random));
        }
        if random.below(4) == 0 {
            story.steps.extend(without_output(&project, &mut sketch, &mut random)?);
        }
        story.plans.push(sketch.plan());
        expected = compared(&project, &sketch, &format!("fresh-{round}"))?;
    }
    let finished = |arguments: &[String]| finished(&project, &sketch, arguments);
    // What others made is taken over, which may be interrupted as well.
    if random.below(2) == 0 {
        story.steps.push(killed(&project, &sketch, "taken", &mut random));
        finished(&arguments(&project, &sketch, "taken", "2"))?;
        same("a new run", &shown(&project.published_by("taken")), &expected)?;
        has_one_session(&project, "taken", &expected)?;
    }
    let outlook = finished(&["resume".to_owned(), "r1".to_owned(), "--dry-run".to_owned()])?.stdout;
    let is_run = |line: &&str| {
        !line.ends_with("  unchanged") && line.split("  ").all(|part| !part.trim().starts_with("left out: "))
    };
    let runs: Vec<String> = outlook.lines().filter(is_run).map(str::to_owned).collect();
    let count = outlook.lines().filter(|line| line.ends_with("  unchanged")).count();
    same("what would run", &runs, &[format!("0 of {} would run", text::counted(count, "stage"))])
}

fn same(what: &str, found: &[String], expected: &[String]) -> Result<(), Difference> {
    let both = || format!("{what}\n  found:    {found:?}\n  expected: {expected:?}");
    if found == expected { Ok(()) } else { Err(both()) }
}

/// Goes on with the run to its end, and compares what it published with what an uninterrupted one does, which is returned.
fn compared(project: &Project, sketch: &Sketch, uninterrupted: &str) -> Result<Vec<String>, Difference> {
    finished(project, sketch, &arguments(project, sketch, "r1", "2"))?;
    same("left alive", &alive(project), &[])?;
    let mut fresh = ["run", "--id", uninterrupted, "--fresh"].map(str::to_owned).to_vec();
    fresh.extend(sketch.set());
    finished(project, sketch, &fresh)?;
    let expected = project.published_by(uninterrupted);
    // Stages that are no longer in the plan have left what they made.
    let mut resumed = project.published_by("r1");
    let is_of_plan = |path: &String| {
        let stage = path.split('/').next();
        expected.iter().any(|(expected, _)| expected.split('/').next() == stage)
    };
    resumed.retain(|(path, _)| is_of_plan(path));
    let expected = shown(&expected);
    same(&format!("the resumed run and {uninterrupted}"), &shown(&resumed), &expected)?;
    has_one_session(project, "r1", &expected)?;
    Ok(expected)
}

/// What a cell found in the session was left there by the attempts whose results stand. `expected` says which stages there are.
fn has_one_session(project: &Project, run: &str, expected: &[String]) -> Result<(), Difference> {
    let stages: BTreeSet<&str> = expected.iter().filter_map(|path| path.split('/').next()).collect();
    let published = project.published_by(run);
    let found: Vec<(&str, String)> = published
        .iter()
        .filter_map(|(path, marks)| {
            let stage = path.strip_suffix("/found.txt").filter(|stage| stages.contains(stage))?;
            Some((stage, String::from_utf8_lossy(marks).into_owned()))
        })
        .collect();
    let own: BTreeSet<&str> = found.iter().filter_map(|(_, marks)| marks.split(' ').next_back()).collect();
    let strange = found.iter().find(|(_, marks)| marks.split(' ').any(|mark| !own.contains(mark)));
    match strange {
        Some((stage, _)) => {
            Err(format!("{run}/{stage} found what is not of a result that stands: {found:?}"))
        }
        None => Ok(()),
    }
}

/// Goes on without what cells left in the session, so that the last one makes something else; that must not stand once variables
/// are saved again.
fn without_session(
    project: &Project,
    sketch: &mut Sketch,
    random: &mut Random,
) -> Result<Option<String>, Difference> {
    if !sketch.change_cells(random) {
        return Ok(None);
    }
    sketch.save_variables(false);
    sketch.write(project);
    finished(project, sketch, &arguments(project, sketch, "r1", "2"))?;
    sketch.change_last_cell(random);
    sketch.write(project);
    finished(project, sketch, &arguments(project, sketch, "r1", "2"))?;
    sketch.save_variables(true);
    sketch.write(project);
    Ok(Some("all cells and then the last one changed while variables were not saved".to_owned()))
}

/// A stage that does not write what it declares fails, also if it was accepted before it declared that.
fn without_output(
    project: &Project,
    sketch: &mut Sketch,
    random: &mut Random,
) -> Result<Option<String>, Difference> {
    let Some(number) = sketch.declare_too_much(random) else { return Ok(None) };
    sketch.write(project);
    let arguments = arguments(project, sketch, "r1", "2");
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let answer = sketch.prepared(project.checkstone(&arguments)).answer();
    sketch.declare_enough();
    sketch.write(project);
    match answer.code {
        Some(0) => Err(format!("stage {number} completed without an output that it declares: {answer:?}")),
        _ => Ok(Some(format!("stage {number} declared an output that it does not write"))),
    }
}

fn finished(project: &Project, sketch: &Sketch, arguments: &[String]) -> Result<Answer, Difference> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let answer = sketch.prepared(project.checkstone(&arguments)).answer();
    if answer.code == Some(0) { Ok(answer) } else { Err(format!("{arguments:?} {answer:?}")) }
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
