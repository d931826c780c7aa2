//! Runs the steps of a campaign, goes on after a failure, and says at the end what passed, failed and was
//! skipped.

use std::time::Instant;

/// How a step ended without failing.
pub(crate) enum Done {
    Passed,
    /// It needs something that this machine does not give.
    Skipped(String),
}

pub(crate) struct Steps {
    began: Instant,
    /// Only those whose name has this in it.
    only: String,
    passed: usize,
    failed: Vec<(&'static str, String)>,
    skipped: Vec<(&'static str, String)>,
}

impl Steps {
    pub(crate) fn new() -> Self {
        Self::only("")
    }

    /// Those steps whose name has `word` in it; the others are passed over without a word.
    pub(crate) fn only(word: &str) -> Self {
        let only = word.to_owned();
        Self { began: Instant::now(), only, passed: 0, failed: Vec::new(), skipped: Vec::new() }
    }

    pub(crate) fn run(&mut self, name: &'static str, step: impl FnOnce() -> Result<Done, String>) {
        if !name.contains(&self.only) {
            return;
        }
        println!("\n=== {name}");
        let began = Instant::now();
        let told = match step() {
            Ok(Done::Passed) => {
                self.passed += 1;
                "passed".to_owned()
            }
            Ok(Done::Skipped(why)) => {
                let told = format!("skipped: {why}");
                self.skipped.push((name, why));
                told
            }
            Err(why) => {
                let told = format!("FAILED: {why}");
                self.failed.push((name, why));
                told
            }
        };
        println!("=== {name}: {told} ({:.1} s)", began.elapsed().as_secs_f32());
    }

    pub(crate) fn finish(self) -> Result<(), String> {
        println!("\nall steps took {:.0} s", self.began.elapsed().as_secs_f32());
        for (name, why) in &self.skipped {
            println!("skipped: {name}: {why}");
        }
        for (name, why) in &self.failed {
            println!("failed: {name}: {why}");
        }
        println!(
            "steps: {} passed, {} failed, {} skipped",
            self.passed,
            self.failed.len(),
            self.skipped.len()
        );
        if self.failed.is_empty() { Ok(()) } else { Err(format!("{} steps failed", self.failed.len())) }
    }
}
