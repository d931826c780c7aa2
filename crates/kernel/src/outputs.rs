//! What one cell puts out: kept for the notebook within bounds, and on disk as it comes: the text, and beside it pictures,
//! tables and the like, so that both outlive whoever reads them. Memory does not grow with it.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use checkpoint::layout::DISPLAYS_FILE;
use files::{Links, regular_file};

use crate::cell::ExecutedCell;
use crate::json::{self, at, set};

/// Of all the text that a cell prints, the notebook keeps so many bytes from the beginning and as many from the end.
const KEPT: usize = 512 << 10;

/// Pictures, tables and the like of one cell, together.
const DISPLAYS: usize = 32 << 20;

/// So many bytes of the file with pictures and tables; a display may be updated any number of times.
const DISPLAYS_KEPT: u64 = 64 << 20;

/// Where an output's text goes, and how much of it.
#[derive(Clone, Debug, Default)]
pub struct Spool {
    pub path: PathBuf,
    /// As people should be told of it.
    pub shown: String,
    pub limit: u64,
}

#[derive(Debug, Default)]
pub(super) struct Outputs {
    spool: Spool,
    /// None where what is on disk already is only read again.
    file: Option<File>,
    written: u64,
    displays_file: Option<File>,
    displays_written: u64,
    /// Bytes of text, all of them.
    pub(super) total: u64,
    outputs: Vec<Value>,
    /// Text in `outputs`, and how much was left out before `tail`.
    head: usize,
    left_out: u64,
    tail: VecDeque<(Stream, String)>,
    tail_bytes: usize,
    tail_room: usize,
    all_left_out: u64,
    displays: usize,
    shown_as: BTreeMap<String, Vec<usize>>,
    /// Updates of displays that earlier cells made.
    pub(super) updates: Vec<(String, Value, Value)>,
    clear_before_next: bool,
    trouble: Option<std::io::Error>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
        }
    }
}

/// What is kept beside the text. Errors are in the text as well.
const DISPLAYED: [&str; 4] = ["display_data", "execute_result", "update_display_data", "clear_output"];

impl Outputs {
    pub(super) fn new(spool: &Spool) -> std::io::Result<Self> {
        let file = regular_file::append(&spool.path, 0o666)?;
        let written = file.metadata()?.len();
        Ok(Self { file: Some(file), written, ..Self::nothing(spool) })
    }

    fn nothing(spool: &Spool) -> Self {
        Self { spool: spool.clone(), tail_room: KEPT, ..Self::default() }
    }

    /// One message of the output channel.
    pub(super) fn take(&mut self, kind: &str, content: Value) {
        if DISPLAYED.contains(&kind) {
            self.keep_display(kind, &content);
        }
        match kind {
            "clear_output" => {
                if at(&content, "wait").as_bool() == Some(true) {
                    self.clear_before_next = true;
                } else {
                    self.clear();
                }
            }
            "update_display_data" => self.update(&content),
            "stream" | "display_data" | "execute_result" | "error" => {
                if std::mem::take(&mut self.clear_before_next) {
                    self.clear();
                }
                match kind {
                    "stream" => {
                        let stream =
                            if at(&content, "name") == "stderr" { Stream::Stderr } else { Stream::Stdout };
                        self.text(stream, json::text(&content, "text"));
                    }
                    _ => self.display(kind, content),
                }
            }
            _ => {}
        }
    }

    fn clear(&mut self) {
        self.outputs.clear();
        self.tail.clear();
        self.shown_as.clear();
        (self.head, self.tail_bytes, self.displays) = (0, 0, 0);
        (self.left_out, self.all_left_out, self.tail_room) = (0, 0, KEPT);
    }

    pub(super) fn text(&mut self, stream: Stream, text: &str) {
        self.total += text.len() as u64;
        self.spool(text);
        let mut rest = text;
        if self.tail.is_empty() && self.head < KEPT {
            let (head, behind) = rest.split_at(rest.floor_char_boundary(KEPT - self.head));
            self.head += head.len();
            push_text(&mut self.outputs, stream, head);
            rest = behind;
            if !rest.is_empty() {
                self.head = KEPT;
            }
        }
        if rest.is_empty() {
            return;
        }
        self.tail.push_back((stream, rest.to_owned()));
        self.tail_bytes += rest.len();
        while self.tail_bytes > self.tail_room {
            let excess = self.tail_bytes - self.tail_room;
            let Some((_, first)) = self.tail.front_mut() else { break };
            let cut = first.ceil_char_boundary(excess.min(first.len()));
            self.tail_bytes -= cut;
            self.left_out += cut as u64;
            if cut == first.len() {
                self.tail.pop_front();
            } else {
                *first = first.split_off(cut);
            }
        }
    }

    fn spool(&mut self, text: &str) {
        let room = usize::try_from(self.spool.limit.saturating_sub(self.written)).unwrap_or(usize::MAX);
        let (kept, rest) = text.split_at(text.floor_char_boundary(room.min(text.len())));
        if let Some(file) = &mut self.file
            && !kept.is_empty()
            && self.trouble.is_none()
        {
            match file.write_all(kept.as_bytes()) {
                Ok(()) => self.written += kept.len() as u64,
                Err(error) => self.trouble = Some(error),
            }
        }
        if !rest.is_empty() && self.written < self.spool.limit {
            self.written = self.spool.limit;
        }
    }

    /// One line each, with the length that the text had then.
    fn keep_display(&mut self, kind: &str, content: &Value) {
        if self.file.is_none() || self.trouble.is_some() {
            return;
        }
        let line = format!("{}\n", json!({"at": self.written, "type": kind, "content": content}));
        self.displays_written += line.len() as u64;
        if self.displays_written > DISPLAYS_KEPT {
            return;
        }
        let path = self.spool.path.with_file_name(DISPLAYS_FILE);
        let file = match self.displays_file.take() {
            Some(file) => Ok(file),
            None => regular_file::append(&path, 0o666).map_err(std::io::Error::from),
        };
        match file.and_then(|mut file| file.write_all(line.as_bytes()).map(|()| file)) {
            Ok(file) => self.displays_file = Some(file),
            Err(error) => self.trouble = Some(error),
        }
    }

    fn display(&mut self, kind: &str, content: Value) {
        self.put_tail();
        let Value::Object(mut content) = content else { return };
        let transient = content.remove("transient").unwrap_or_default();
        let mut output = json!({"output_type": kind});
        let keys: &[&str] = match kind {
            "error" => &["ename", "evalue", "traceback"],
            "execute_result" => &["data", "execution_count", "metadata"],
            _ => &["data", "metadata"],
        };
        for key in keys {
            set(
                &mut output,
                key,
                content.remove(*key).unwrap_or_else(|| match *key {
                    "traceback" => json!([]),
                    "ename" | "evalue" => json!(""),
                    "execution_count" => Value::Null,
                    _ => json!({}),
                }),
            );
        }
        if kind == "error" {
            let lines: Vec<&str> =
                at(&output, "traceback").as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            let text = format!("{}\n", lines.join("\n"));
            self.spool(&text);
        }
        let size = size_of(&output);
        if self.displays + size > DISPLAYS {
            let note = format!(
                "[an output of {size} bytes is left out here: the cell showed more than a notebook should hold]\n"
            );
            push_text(&mut self.outputs, Stream::Stderr, &note);
            return;
        }
        self.displays += size;
        if let Some(id) = at(&transient, "display_id").as_str() {
            self.shown_as.entry(id.to_owned()).or_default().push(self.outputs.len());
        }
        self.outputs.push(output);
    }

    fn update(&mut self, content: &Value) {
        let id = json::text(at(content, "transient"), "display_id").to_owned();
        let (data, metadata) = (at(content, "data").clone(), at(content, "metadata").clone());
        for place in self.shown_as.get(&id).into_iter().flatten() {
            if let Some(output) = self.outputs.get_mut(*place) {
                set(output, "data", data.clone());
                set(output, "metadata", metadata.clone());
            }
        }
        // The same display may stand in cells before this one. Only the last update counts.
        self.updates.retain(|(known, _, _)| *known != id);
        self.updates.push((id, data, metadata));
    }

    /// Puts the end of the text so far behind its beginning, with a note between them where something is missing.
    fn put_tail(&mut self) {
        if self.left_out > 0 {
            let note = format!(
                "\n[{} bytes are left out here; the whole text is in `{}`]\n",
                self.left_out, self.spool.shown
            );
            push_text(&mut self.outputs, Stream::Stderr, &note);
        }
        for (stream, text) in std::mem::take(&mut self.tail) {
            push_text(&mut self.outputs, stream, &text);
        }
        self.all_left_out += std::mem::take(&mut self.left_out);
        self.tail_bytes = 0;
        // Many displays, each with text before it, must not make the bound worthless.
        self.tail_room = (self.tail_room / 2).max(1 << 10);
    }

    /// All that is kept of a finished cell.
    pub(super) fn finish(mut self) -> ExecutedCell {
        self.put_tail();
        ExecutedCell {
            outputs: self.outputs,
            displays: self.shown_as,
            updates: self.updates,
            text: self.total,
            left_out: self.all_left_out,
            trouble: self.trouble.map(|error| error.to_string()),
            ..ExecutedCell::default()
        }
    }
}

/// The outputs of a cell whose supervisor was killed, from what is on disk of them. Which stream a text came from is not known.
pub fn read_again(spool: &Spool) -> std::io::Result<Vec<Value>> {
    let open = |path: &Path| match regular_file::open(path, Links::Refuse) {
        Ok(file) => Ok(Some(BufReader::new(file))),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(std::io::Error::from(error)),
    };
    let mut outputs = Outputs::nothing(spool);
    let mut text = open(&spool.path)?.map(|file| Text { file, read: 0, cut: Vec::new() });
    if let Some(displays) = open(&spool.path.with_file_name(DISPLAYS_FILE))? {
        for line in displays.take(DISPLAYS_KEPT).split(b'\n') {
            // The last one may not be whole.
            let Ok(display) = serde_json::from_slice::<Value>(&line?) else { continue };
            if let (Some(text), Some(at)) = (&mut text, at(&display, "at").as_u64()) {
                text.until(at, &mut outputs)?;
            }
            let content = at(&display, "content").clone();
            outputs.take(json::text(&display, "type"), content);
        }
    }
    if let Some(text) = &mut text {
        text.until(u64::MAX, &mut outputs)?;
    }
    Ok(outputs.finish().outputs)
}

/// A text on disk, read in pieces.
struct Text {
    file: BufReader<File>,
    read: u64,
    /// A character that is not whole yet.
    cut: Vec<u8>,
}

impl Text {
    fn until(&mut self, end: u64, outputs: &mut Outputs) -> std::io::Result<()> {
        while self.read < end {
            let mut piece = std::mem::take(&mut self.cut);
            let length = (end - self.read).min(64 << 10);
            let read = self.file.by_ref().take(length).read_to_end(&mut piece)?;
            if read == 0 {
                break;
            }
            self.read += read as u64;
            let whole = match std::str::from_utf8(&piece) {
                Err(error) if error.error_len().is_none() => error.valid_up_to(),
                _ => piece.len(),
            };
            self.cut = piece.split_off(whole);
            outputs.text(Stream::Stdout, &String::from_utf8_lossy(&piece));
        }
        Ok(())
    }
}

/// Consecutive text of one stream is one output.
fn push_text(outputs: &mut Vec<Value>, stream: Stream, text: &str) {
    if text.is_empty() {
        return;
    }
    if let Some(last) = outputs.last_mut()
        && at(last, "output_type") == "stream"
        && at(last, "name") == stream.name()
        && let Some(Value::String(known)) = last.get_mut("text")
    {
        known.push_str(text);
        return;
    }
    outputs.push(json!({"name": stream.name(), "output_type": "stream", "text": text}));
}

fn size_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size_of).sum(),
        Value::Object(entries) => entries.iter().map(|(key, value)| key.len() + size_of(value)).sum(),
        _ => 8,
    }
}

impl Spool {
    /// A file in a stage's attempt.
    pub fn new(path: &Path, shown: &str) -> Self {
        Self { path: path.to_owned(), shown: shown.to_owned(), limit: 256 << 20 }
    }
}
