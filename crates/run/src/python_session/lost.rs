//! The cells of stages whose supervisor was killed while they ran: nobody was there to put their outputs into the notebook.
//! What is known of them is in the attempt's `output.log`, and is put there when the run goes on.

use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use serde_json::{Value, json};

use super::Inside;
use crate::attempt::told;
use crate::hash;
use crate::layout::Layout;
use crate::notebook::{self, NewCell};

/// So much of the output's beginning, and of its end.
const KEPT: u64 = 256 << 10;

/// What the notebook says of our cell; `running` is its source until its outputs are there, so that a cell which a
/// person changed is not taken for ours.
pub(super) fn about(layout: &Layout, stage: &str, attempt: u32, running: Option<&str>) -> Value {
    let mut about = json!({"runId": layout.run(), "stageId": stage, "attempt": attempt});
    if let (Some(source), Value::Object(about)) = (running, &mut about) {
        about.insert("running".to_owned(), json!(hash::of_bytes(source.as_bytes())));
    }
    about
}

impl Inside {
    /// Completes the run's cells that were left running.
    pub(super) fn complete_lost_cells(&mut self, layout: &Layout, warn: &dyn Fn(String)) {
        // A notebook that cannot be read is told when a cell is put into it.
        let left = notebook::left_running(&layout.notebook(), layout.run()).unwrap_or_default();
        for cell in left {
            let Ok(log) = layout.attempt_output(&cell.stage, cell.attempt) else { continue };
            let shown = layout.relative(&log);
            let said = match ends_of(&log) {
                Ok(said) => said,
                Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
                Err(error) => {
                    warn(told(&error));
                    continue;
                }
            };
            let note = match said.is_empty() {
                true => "[checkstone was ended while this cell ran; it had put out nothing]\n".to_owned(),
                false => format!(
                    "[checkstone was ended while this cell ran; what it had printed is above, and in `{shown}`; \
                     pictures and tables are lost]\n"
                ),
            };
            let stream =
                |name: &str, text: String| json!({"output_type": "stream", "name": name, "text": text});
            let mut outputs = vec![stream("stdout", said)];
            outputs.retain(|output| output.get("text").is_some_and(|text| text != ""));
            outputs.push(stream("stderr", note));
            let about = about(layout, &cell.stage, cell.attempt, None);
            let metadata = [("checkstone".to_owned(), about)].into_iter().collect();
            let (id, source) = (cell.id, cell.source);
            self.put(NewCell { id, source, outputs, metadata, execution_count: None }, warn);
        }
    }
}

/// The text of a file; of a long one the beginning and the end.
fn ends_of(path: &Path) -> io::Result<String> {
    let mut file = fs_err::File::open(path)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    if length <= 2 * KEPT {
        file.take(2 * KEPT).read_to_end(&mut bytes)?;
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    file.by_ref().take(KEPT).read_to_end(&mut bytes)?;
    let mut text = String::from_utf8_lossy(&bytes).into_owned();
    text.push_str(&format!("\n[{} bytes are left out here]\n", length - 2 * KEPT));
    file.seek(SeekFrom::Start(length - KEPT))?;
    bytes.clear();
    file.take(KEPT).read_to_end(&mut bytes)?;
    text.push_str(&String::from_utf8_lossy(&bytes));
    Ok(text)
}
