//! What a real client wrote of one session, and the same session with longer outputs.

use std::path::PathBuf;

use transcript::{Agent, Options};

use super::records::Records;
use crate::root;

/// Shorter ones stand in many places that are no outputs.
const SHORTEST_OUTPUT: usize = 8;

/// A line of what is added to an output.
const ADDED: &str = "tests/test_of_the_service.py::test_that_it_answers PASSED [ 42%]";

pub(crate) struct HostSample {
    host: Agent,
    prompt: String,
    /// All lines of the session that are no prompts.
    turn: Vec<String>,
    calls: usize,
    outputs: Vec<String>,
}

pub(crate) fn samples_of(host: Agent) -> PathBuf {
    root().join("crates/transcript/tests/samples").join(host.name())
}

impl HostSample {
    /// The largest sample of a host as one turn.
    pub(crate) fn load(host: Agent) -> Result<Self, String> {
        let entries = fs_err::read_dir(samples_of(host)).map_err(|error| error.to_string())?;
        let samples = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let lines = samples.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
        let largest = lines.max_by_key(|path| path.metadata().map_or(0, |found| found.len()));
        let largest = largest.ok_or_else(|| format!("{} has no sample", host.name()))?;
        let text = fs_err::read_to_string(largest).map_err(|error| error.to_string())?;
        let options = Options { agent: Some(host), ..Options::default() };
        let is_prompt = |line: &&str| transcript::read_bytes(line.as_bytes(), &options).turn.is_some();
        let (prompts, turn): (Vec<&str>, Vec<&str>) = text.lines().partition(is_prompt);
        let prompt =
            prompts.last().ok_or_else(|| format!("the sample of {} holds no prompt", host.name()))?;
        let turn: Vec<String> = turn.into_iter().map(str::to_owned).collect();
        let session = format!("{prompt}\n{}\n", turn.join("\n"));
        let calls = transcript::read_bytes(session.as_bytes(), &options).calls;
        let mut outputs: Vec<String> = calls.iter().filter_map(|call| call.snippet.clone()).collect();
        outputs.retain(|output| output.len() >= SHORTEST_OUTPUT);
        outputs.sort_unstable();
        outputs.dedup();
        let prompt = (*prompt).to_owned();
        Ok(Self { host, prompt, turn, calls: calls.len(), outputs })
    }

    pub(crate) fn bytes_per_call(&self) -> usize {
        self.turn.iter().map(String::len).sum::<usize>() / self.calls.max(1)
    }

    /// With so much more in every output that a call takes so many bytes; nothing if the sample shows no output.
    pub(crate) fn lengthened(mut self, bytes_per_call: usize) -> Option<Self> {
        let missing = bytes_per_call.saturating_sub(self.bytes_per_call()) * self.calls;
        let places: Vec<Vec<InsertionPoint>> = self.turn.iter().map(|line| self.places(line)).collect();
        let more = missing.checked_div(places.iter().map(Vec::len).sum())?;
        for (line, places) in self.turn.iter_mut().zip(places) {
            for place in places.iter().rev() {
                let added = place.line_end.to_owned() + ADDED;
                let repeated = added.repeat(more / added.len());
                line.insert_str(place.at, &repeated);
            }
        }
        Some(self)
    }

    /// Where in a line outputs can be continued: behind a blank in their middle, which is no part of an escape.
    fn places(&self, line: &str) -> Vec<InsertionPoint> {
        let mut places = Vec::new();
        for output in &self.outputs {
            let once = escaped(output);
            let twice = escaped(&once);
            // In JSON that is itself a text of a JSON, all is escaped twice.
            for (written, line_end) in [(&once, r"\n"), (&twice, r"\\n")] {
                let middle = written.len() / 2;
                let blanks = written.match_indices(' ').map(|(at, _)| at + 1);
                let Some(blank) = blanks.min_by_key(|at| at.abs_diff(middle)) else { continue };
                places.extend(
                    line.match_indices(written.as_str())
                        .map(|(at, _)| InsertionPoint { at: at + blank, line_end }),
                );
            }
        }
        places.sort_unstable();
        places.dedup_by_key(|place| place.at);
        places
    }

    pub(crate) fn records(&self) -> Records {
        Records::new(self.host, self.prompt.clone(), &self.turn)
    }
}

/// A place in a line of JSON, and how the end of a line is written there.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct InsertionPoint {
    at: usize,
    line_end: &'static str,
}

/// As it stands in a string of JSON.
fn escaped(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted.trim_start_matches('"').strip_suffix('"').unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longer_outputs_are_outputs_of_the_same_calls() {
        for host in Agent::ALL.into_iter().filter(|host| transcript::is_read(*host)) {
            let sample = HostSample::load(host).unwrap();
            let (calls, outputs) = (sample.calls, sample.outputs.len());
            let Some(longer) = sample.lengthened(20_000) else {
                assert_eq!(outputs, 0, "{}", host.name());
                continue;
            };
            assert_eq!(longer.bytes_per_call() / 1000, 19, "{}", host.name());
            let session = format!("{}\n{}\n", longer.prompt, longer.turn.join("\n"));
            let options = Options { agent: Some(host), ..Options::default() };
            assert_eq!(
                transcript::read_bytes(session.as_bytes(), &options).calls.len(),
                calls,
                "{}",
                host.name()
            );
        }
    }
}
