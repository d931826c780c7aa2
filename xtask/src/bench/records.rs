//! Transcripts of any size, made of records that a real client wrote.

use std::io::{BufWriter, Write};
use std::path::Path;

use transcript::{Agent, Options};

use crate::root;

pub(crate) const MEGABYTE: u64 = 1024 * 1024;

/// Real records of one sample: a prompt, and the records of a turn that follow it.
pub(crate) struct Records {
    pub(crate) prompt: String,
    pub(crate) turn: Vec<String>,
}

impl Records {
    pub(crate) fn load() -> Result<Self, String> {
        let mut turn = Vec::new();
        let mut prompt = None;
        for sample in ["2.1.325-at-stop-slowhook.jsonl", "2.1.325-bash.jsonl"] {
            let path = root().join("crates/transcript/tests/samples/claude").join(sample);
            let text = fs_err::read_to_string(path).map_err(|error| error.to_string())?;
            for line in text.lines() {
                match line.contains(r#""promptSource""#) {
                    true => prompt = Some(line.to_owned()),
                    false => turn.push(line.to_owned()),
                }
            }
        }
        let prompt = prompt.ok_or("the samples hold no prompt")?;
        Ok(Self { prompt, turn })
    }

    /// Those of the largest sample of a host: the last prompt, and everything of the session that is none.
    pub(crate) fn of_host(host: Agent) -> Result<Self, String> {
        let folder = root().join("crates/transcript/tests/samples").join(host.name());
        let entries = fs_err::read_dir(folder).map_err(|error| error.to_string())?;
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
        Ok(Self { prompt: (*prompt).to_owned(), turn: turn.into_iter().map(str::to_owned).collect() })
    }

    /// A transcript of `size` bytes whose last turn takes `last_turn` of them. Ids are made anew in every
    /// repetition, so that every call is a call of its own.
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
                let id = format!("toolu_{repetition:04x}_");
                for line in &self.turn {
                    if writer.written >= end {
                        break;
                    }
                    writer.line(&line.replace("toolu_mock_", &id))?;
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
