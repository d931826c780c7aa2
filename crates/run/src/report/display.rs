//! What the Python stages of a run showed: pictures and tables, as the kernel sent them.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};

use checkpoint::layout::{DISPLAYS_FILE, Layout};
use serde_json::Value;

use super::story::StageStory;
use crate::fingerprint;

/// What `read` makes of the displays of the accepted attempt. One that was updated counts as it was last.
pub(super) fn shown<Found>(
    layout: &Layout,
    stage: &StageStory,
    read: impl Fn(&Value) -> Option<Found>,
) -> Vec<Found> {
    let folder = stage.result().and_then(|result| layout.attempt(&stage.id, result.attempt).ok());
    let file = folder.and_then(|folder| fingerprint::open_regular(&folder.join(DISPLAYS_FILE)).ok());
    let mut found: Vec<Found> = Vec::new();
    // Where a display is that may be updated.
    let mut places: HashMap<String, usize> = HashMap::new();
    for line in file.into_iter().flat_map(|file| BufReader::new(file).split(b'\n')).map_while(Result::ok) {
        let Ok(display) = serde_json::from_slice::<Value>(&line) else { continue };
        let at = |pointer: &str| display.pointer(pointer);
        let Some(new) = at("/content/data").and_then(&read) else { continue };
        let id = at("/content/transient/display_id").and_then(Value::as_str);
        let is_update = at("/type").is_some_and(|kind| kind == "update_display_data");
        match id.and_then(|id| places.get(id)).and_then(|place| found.get_mut(*place)) {
            Some(place) if is_update => *place = new,
            _ => {
                places.extend(id.map(|id| (id.to_owned(), found.len())));
                found.push(new);
            }
        }
    }
    found
}

/// A display in one of its forms: a text, or the lines of one.
pub(super) fn text_of(data: &Value, media: &str) -> Option<String> {
    match data.get(media)? {
        Value::Array(lines) => Some(lines.iter().filter_map(Value::as_str).collect()),
        text => text.as_str().map(str::to_owned),
    }
}
