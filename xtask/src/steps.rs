//! Runs the steps of a campaign, goes on after a failure, and says at the end what passed, failed and was
//! skipped, and how many seconds each step took.

use std::time::{Duration, Instant};

/// How a step ended without failing.
pub(crate) enum Done {
    Passed,
    /// It needs something that this machine does not give.
    Skipped(String),
}

struct Step {
    name: &'static str,
    result: Result<Done, String>,
    took: Duration,
}

impl Step {
    fn told(&self) -> String {
        match &self.result {
            Ok(Done::Passed) => "passed".to_owned(),
            Ok(Done::Skipped(why)) => format!("skipped: {why}"),
            Err(why) => format!("FAILED: {why}"),
        }
    }
}

pub(crate) struct Steps {
    began: Instant,
    /// Only those whose name has this in it.
    only: String,
    steps: Vec<Step>,
}

impl Steps {
    pub(crate) fn new() -> Self {
        Self::only("")
    }

    /// Those steps whose name has `word` in it; the others are passed over without a word.
    pub(crate) fn only(word: &str) -> Self {
        Self { began: Instant::now(), only: word.to_owned(), steps: Vec::new() }
    }

    pub(crate) fn run(&mut self, name: &'static str, step: impl FnOnce() -> Result<Done, String>) {
        if !name.contains(&self.only) {
            return;
        }
        println!("\n=== {name}");
        let began = Instant::now();
        let result = step();
        let step = Step { name, result, took: began.elapsed() };
        println!("=== {name}: {} ({:.1} s)", step.told(), step.took.as_secs_f32());
        self.steps.push(step);
    }

    pub(crate) fn finish(self) -> Result<(), String> {
        if self.steps.is_empty() {
            return Err(format!("no step has `{}` in its name", self.only));
        }
        let width = self.steps.iter().map(|step| step.name.len()).max().unwrap_or_default();
        println!("\nseconds  step");
        for step in &self.steps {
            println!("{:7.1}  {:width$}  {}", step.took.as_secs_f32(), step.name, step.told());
        }
        println!("{:7.1}  all steps", self.began.elapsed().as_secs_f32());
        match self.steps.iter().filter(|step| step.result.is_err()).count() {
            0 => Ok(()),
            failed => Err(format!("{failed} of {} steps failed", self.steps.len())),
        }
    }
}
