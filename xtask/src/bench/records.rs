//! Transcripts of any size, made of records that a real client wrote.

use std::io::{BufWriter, Write};
use std::path::Path;

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
