//! One normaliser per format: a line in, a [`Record`] out. They never fail; a line that they cannot read is a
//! record that is not understood. What else there is to know of a host's files is in its [`HostFormat`].

pub(crate) mod content;
pub(crate) mod function_calls;
pub(crate) mod patch;
mod subagent_folder;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jiff::Timestamp;
use memchr::memmem::Finder;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use text::WordFinder;

use crate::agent::Agent;
use crate::database::DatabaseFormat;
use crate::entry::Record;
use crate::json_reader::{self, RawJson};
use crate::json_text::Text;

/// What is to be known of the transcripts of one host.
#[derive(Debug)]
pub(crate) struct HostFormat {
    /// What one line says.
    pub(crate) record: fn(&str) -> Record,
    /// The format is known. Otherwise its transcripts are left alone.
    pub(crate) is_read: bool,
    /// Whether a line has what only this host writes. Other programs use the same envelopes, and a transcript that nobody is known to
    /// have written must not pass for a turn in which nothing was done (L16); so many a line of the host itself has no such mark.
    pub(crate) wrote: fn(&LineShape<'_>) -> bool,
    /// The older format, in which a session is one document.
    pub(crate) document: Option<DocumentFormat>,
    /// How its sessions are read, where it keeps them in a database.
    pub(crate) database: Option<DatabaseFormat>,
    /// Whether a text in the person's name is the client's own.
    pub(crate) is_own_prompt: fn(&str) -> bool,
    /// What is in a line before the turn that can say something about it: files that the agent knows, sub-agents that it launched.
    pub(crate) session_signs: &'static [&'static str],
    pub(crate) subagents: SubagentFiles,
    /// No prompt ever belongs to an earlier one.
    pub(crate) has_single_prompts: bool,
    /// More tokens in use than the model's window has mean a variant of it with a larger one.
    pub(crate) has_long_variants: bool,
    /// What ends in the background wakes the agent.
    pub(crate) wakes_agent: bool,
}

impl HostFormat {
    /// What most hosts leave as it is. Without a normaliser nothing is understood, and no line is taken for this host's.
    pub(crate) const BASE: Self = Self {
        record: |_| Record::not_understood(),
        is_read: true,
        wrote: |_| false,
        document: None,
        database: None,
        is_own_prompt: |_| false,
        session_signs: &[],
        subagents: SubagentFiles::None,
        has_single_prompts: false,
        has_long_variants: false,
        wakes_agent: false,
    };
}

/// A session that is one JSON document.
#[derive(Debug)]
pub(crate) struct DocumentFormat {
    /// A name at its beginning that only this host writes.
    pub(crate) sign: &'static str,
    /// The messages in a document.
    pub(crate) messages: for<'a> fn(&'a str) -> DocumentMessages<'a>,
    /// What one of them says.
    pub(crate) record: fn(RawJson<'_>) -> Record,
}

/// The messages of a document, as written. Of a torn one those before the tear, and `torn`.
pub(crate) struct DocumentMessages<'a> {
    pub(crate) messages: Vec<RawJson<'a>>,
    pub(crate) torn: bool,
}

/// Files, each with the id of its sub-agent.
pub(crate) type IdentifiedFiles = Vec<(String, PathBuf)>;

/// Where the sub-agents of a session write what they do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SubagentFiles {
    /// In no file of their own.
    None,
    /// All files in the session's own folder, those that were written to since.
    Listed(fn(&Path, Timestamp) -> IdentifiedFiles),
    /// The files of the sub-agents that a turn names.
    Named(fn(&Path, &[String]) -> IdentifiedFiles),
}

macro_rules! formats {
    ($($host:ident $name:ident,)*) => {
        $(mod $name;)*

        /// What is to be known of the transcripts of `agent`.
        pub(crate) fn of(agent: Agent) -> &'static HostFormat {
            match agent {
                $(Agent::$host => &$name::FORMAT,)*
            }
        }

        /// Finds what can say something about a turn in the lines before it.
        fn session_signs(agent: Agent) -> &'static WordFinder {
            match agent {
                $(Agent::$host => {
                    static SIGNS: LazyLock<WordFinder> =
                        LazyLock::new(|| WordFinder::new($name::FORMAT.session_signs));
                    &SIGNS
                })*
            }
        }
    };
}

crate::each_host!(formats);

/// What one line of `agent`'s transcript says.
pub(crate) fn record(agent: Agent, line: &[u8]) -> Record {
    let text = match std::str::from_utf8(line) {
        Ok(text) => Cow::Borrowed(text),
        // A program's output may have been cut inside a character; the rest of the record is sound.
        Err(_) => Cow::Owned(String::from_utf8_lossy(line).into_owned()),
    };
    // A list would pass for a record whose fields it holds in order.
    if !text.trim_start().starts_with('{') {
        return Record::not_understood();
    }
    (of(agent).record)(&text)
}

/// Whether a prompt that a client submits is the client's own text, not a person's.
pub fn is_text_of_client(agent: Agent, prompt: &str) -> bool {
    (of(agent).is_own_prompt)(prompt.trim())
}

/// Whether the format of this client's transcripts is known.
pub fn is_read(agent: Agent) -> bool {
    of(agent).is_read
}

/// Whether what ends in the background wakes the agent of this client.
pub fn wakes_agent(agent: Agent) -> bool {
    of(agent).wakes_agent
}

/// What a line looks like from outside: the names that its object has, by which the clients' lines are told apart.
pub(crate) struct LineShape<'a> {
    fields: Vec<(Cow<'a, str>, RawJson<'a>)>,
}

impl<'a> LineShape<'a> {
    /// Of a text that is an object.
    fn of(text: &'a str) -> Option<Self> {
        text.trim_start().starts_with('{').then(|| json_reader::from_str(text).ok()).flatten()
    }

    /// Whether it has something under this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// Whether it has something under each of these names, and under no other.
    pub(crate) fn has_only(&self, names: &[&str]) -> bool {
        self.fields.len() == names.len() && names.iter().all(|name| self.has(name))
    }

    /// Whether the object under this name has something under one of these.
    pub(crate) fn has_inside(&self, name: &str, names: &[&str]) -> bool {
        let inner = self.value(name).and_then(|raw| LineShape::of(raw.get()));
        inner.is_some_and(|inner| names.iter().any(|name| inner.has(name)))
    }

    /// Its `type`.
    pub(crate) fn kind(&self) -> &str {
        let written = self.value("type").and_then(|raw| raw.get().strip_prefix('"')?.strip_suffix('"'));
        written.unwrap_or_default()
    }

    fn value(&self, name: &str) -> Option<RawJson<'_>> {
        self.fields.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for LineShape<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ShapeVisitor;
        impl<'de> Visitor<'de> for ShapeVisitor {
            type Value = LineShape<'de>;
            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut shape = LineShape { fields: Vec::new() };
                while let Some(Text(name)) = map.next_key::<Text<'de>>()? {
                    let value: RawJson<'de> = map.next_value()?;
                    if value.get() != "null" {
                        shape.fields.push((name, value));
                    }
                }
                Ok(shape)
            }
        }
        deserializer.deserialize_map(ShapeVisitor)
    }
}

/// The clients by which a line looks as if it was written.
pub(crate) fn possible_writers(line: &str) -> Vec<Agent> {
    let Some(shape) = LineShape::of(line) else { return Vec::new() };
    Agent::ALL.into_iter().filter(|agent| (of(*agent).wrote)(&shape)).collect()
}

/// Whether a line before the turn can say something about it.
pub(crate) fn tells_of_session(agent: Agent, line: &[u8]) -> bool {
    !of(agent).session_signs.is_empty() && session_signs(agent).find(line, 0).is_some()
}

/// The value of the first `"type"` in the first bytes of a line. Formats that write their type before the
/// body let a reader pass over megabytes of bookkeeping without parsing them: an unescaped `"type":"` cannot
/// stand inside a JSON string.
pub(crate) fn early_type(line: &str, within: usize) -> Option<&str> {
    static TYPE: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(r#""type":""#));
    let head = line.get(..line.floor_char_boundary(within.min(line.len())))?;
    let after = head.get(TYPE.find(head.as_bytes())? + TYPE.needle().len()..)?;
    after.split_once('"').map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every file below a folder of the tests.
    fn files(folder: &Path) -> Vec<PathBuf> {
        let entries = fs_err::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
    }

    /// L16: whatever another host writes, known or not, no line of it is taken for one's own; and each sample is known by its own lines.
    #[test]
    fn l16_no_line_of_any_sample_is_taken_for_another_hosts() {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let writers = |file: &Path| {
            let text = String::from_utf8_lossy(&fs_err::read(file).unwrap()).into_owned();
            let mut writers: Vec<Agent> = text.lines().flat_map(possible_writers).collect();
            writers.sort_by_key(|agent| agent.name());
            writers.dedup();
            writers
        };
        for host in Agent::ALL.into_iter().filter(|host| is_read(*host)) {
            let samples = files(&tests.join("samples").join(host.name()));
            let is_log = |file: &&PathBuf| file.extension().is_some_and(|extension| extension == "jsonl");
            for sample in samples.iter().filter(is_log) {
                assert_eq!(writers(sample), [host], "{}", sample.display());
                assert_eq!(crate::reader::writer(sample), Some(host), "{}", sample.display());
                // By another's reader it looks like an idle agent, so that whoever reads it so asks who wrote it.
                for other in Agent::ALL.into_iter().filter(|other| *other != host) {
                    let options = crate::Options { agent: Some(other), ..crate::Options::default() };
                    assert_eq!(crate::read(sample, &options).calls, [], "{} as {other:?}", sample.display());
                }
            }
        }
        for sample in files(&tests.join("samples-of-unknown-hosts")) {
            assert_eq!(writers(&sample), [], "{}", sample.display());
            let reading = crate::read(&sample, &crate::Options::default());
            assert_eq!(reading.agent, None);
            assert!(reading.coverage.records > 0);
        }
    }
}
