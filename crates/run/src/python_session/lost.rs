//! The cells of stages whose supervisor was killed while they ran: nobody was there to put their outputs into the notebook.
//! What is known of them is in the attempt's folder, and is put there when the run goes on.

use checkpoint::hash;
use checkpoint::layout::Layout;
use kernel::notebook::{self, NewCell};
use serde_json::{Value, json};
use text::error_chain;

use super::{SharedSession, spool};

/// What the notebook says of our cell; `running` is its source until its outputs are there, so that a cell which a
/// person changed is not taken for ours.
pub(super) fn about(layout: &Layout, stage: &str, attempt: u32, running: Option<&str>) -> Value {
    let mut about = json!({"runId": layout.run(), "stageId": stage, "attempt": attempt});
    if let (Some(source), Value::Object(about)) = (running, &mut about) {
        about.insert("running".to_owned(), json!(hash::of_bytes(source.as_bytes())));
    }
    about
}

impl SharedSession {
    /// Completes the run's cells that were left running.
    pub(super) fn complete_lost_cells(&mut self, layout: &Layout, warn: &dyn Fn(String)) {
        // A notebook that cannot be read is told when a cell is put into it.
        let left = notebook::left_running(&layout.notebook(), layout.run()).unwrap_or_default();
        for cell in left {
            let Ok(log) = layout.attempt_output(&cell.stage, cell.attempt) else { continue };
            let spool = spool(layout, &log);
            let mut outputs = match kernel::read_again(&spool) {
                Ok(outputs) => outputs,
                Err(error) => {
                    warn(error_chain(&error));
                    continue;
                }
            };
            let note = match outputs.is_empty() {
                true => "[checkstone was stopped while this cell ran; it had no output yet]\n".to_owned(),
                false => format!(
                    "[checkstone was stopped while this cell ran; its output so far is above, and its text in `{}`]\n",
                    spool.shown
                ),
            };
            outputs.push(json!({"output_type": "stream", "name": "stderr", "text": note}));
            let about = about(layout, &cell.stage, cell.attempt, None);
            let metadata = [("checkstone".to_owned(), about)].into_iter().collect();
            let (id, source) = (cell.id, cell.source);
            self.put(NewCell { id, source, outputs, metadata, execution_count: None }, warn);
        }
    }
}
