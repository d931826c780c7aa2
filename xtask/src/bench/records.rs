//! Transcripts of any size, made of records that a real client wrote.

use std::collections::BTreeSet;
use std::io::{BufWriter, Write};
use std::path::Path;

use transcript::{Agent, Options};

use super::host_sample::samples_of;

pub(crate) const MEGABYTE: u64 = 1024 * 1024;

/// Real records of one sample: a prompt, and the records of a turn that follow it.
pub(crate) struct Records {
    pub(crate) prompt: String,
    turn: Vec<RepeatedLine>,
}

/// A line that is written again and again, as the pieces between which a name of the repetition is put: behind each of
/// its ids, so that every call is a call of its own.
struct RepeatedLine(Vec<String>);

impl RepeatedLine {
    fn new(line: &str, ids: &BTreeSet<String>) -> Self {
        let written = ids.iter().map(|id| format!("\"{id}\""));
        let ends = written
            .flat_map(|id| line.match_indices(&id).map(|(at, id)| at + id.len() - 1).collect::<Vec<usize>>());
        let mut ends: Vec<usize> = ends.collect();
        ends.sort_unstable();
        let begins = std::iter::once(0).chain(ends.iter().copied());
        let pieces = begins.zip(ends.iter().copied().chain([line.len()]));
        Self(pieces.filter_map(|(begin, end)| line.get(begin..end)).map(str::to_owned).collect())
    }
}

/// What stands under the name `id` anywhere in a line.
fn collect_ids(value: &serde_json::Value, ids: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(members) => {
            ids.extend(members.get("id").and_then(|id| id.as_str()).map(str::to_owned));
            members.values().for_each(|inner| collect_ids(inner, ids));
        }
        serde_json::Value::Array(list) => list.iter().for_each(|inner| collect_ids(inner, ids)),
        _ => {}
    }
}

impl Records {
    pub(crate) fn load() -> Result<Self, String> {
        let host = Agent::default();
        let mut turn = Vec::new();
        let mut prompt = None;
        for sample in ["2.1.325-at-stop-slowhook.jsonl", "2.1.325-bash.jsonl"] {
            let path = samples_of(host).join(sample);
            let text = fs_err::read_to_string(path).map_err(|error| error.to_string())?;
            for line in text.lines() {
                match line.contains(r#""promptSource""#) {
                    true => prompt = Some(line.to_owned()),
                    false => turn.push(line.to_owned()),
                }
            }
        }
        let prompt = prompt.ok_or("the samples hold no prompt")?;
        Ok(Self::new(host, prompt, &turn))
    }

    pub(crate) fn new(host: Agent, prompt: String, turn: &[String]) -> Self {
        let mut ids = BTreeSet::new();
        for line in turn.iter().filter_map(|line| serde_json::from_str(line).ok()) {
            collect_ids(&line, &mut ids);
        }
        // A call has its own name for its id in some hosts.
        let session = format!("{prompt}\n{}\n", turn.join("\n"));
        let options = Options { agent: Some(host), ..Options::default() };
        ids.extend(
            transcript::read_bytes(session.as_bytes(), &options).calls.into_iter().map(|call| call.id),
        );
        ids.remove("");
        Self { prompt, turn: turn.iter().map(|line| RepeatedLine::new(line, &ids)).collect() }
    }

    /// The records behind the prompt, with ids that have this name behind them.
    pub(crate) fn turn(&self, name: &str) -> impl Iterator<Item = String> {
        self.turn.iter().map(move |RepeatedLine(pieces)| pieces.join(name))
    }

    /// A transcript of `size` bytes whose last turn takes `last_turn` of them.
    pub(crate) fn write(&self, path: &Path, size: u64, last_turn: u64) -> Result<(), String> {
        if path.metadata().is_ok_and(|metadata| metadata.len().abs_diff(size) < 64 * 1024) {
            return Ok(());
        }
        let file = fs_err::File::create(path).map_err(|error| error.to_string())?;
        let mut writer = Counted { inner: BufWriter::with_capacity(1 << 20, file), written: 0 };
        let mut repetition = 0_u32;
        for end in [size - last_turn, size] {
            let mut began = false;
            while writer.written < end {
                if !began || end < size {
                    writer.line(&self.prompt)?;
                }
                began = true;
                repetition += 1;
                let number = format!("{repetition:05x}");
                for line in self.turn(&number) {
                    if writer.written >= end {
                        break;
                    }
                    writer.line(&line)?;
                }
            }
        }
        writer.inner.flush().map_err(|error| error.to_string())
    }
}

struct Counted {
    inner: BufWriter<fs_err::File>,
    written: u64,
}

impl Counted {
    fn line(&mut self, line: &str) -> Result<(), String> {
        self.written += line.len() as u64 + 1;
        let write = self.inner.write_all(line.as_bytes()).and_then(|()| self.inner.write_all(b"\n"));
        write.map_err(|error| error.to_string())
    }
}
