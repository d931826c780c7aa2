//! The pictures of a run: those that its Python stages showed, and those among its artifacts.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _};

use checkpoint::layout::{DISPLAYS_FILE, Layout};
use serde_json::Value;

use super::story::{Outcome, StageStory, Story};
use crate::fingerprint;

/// A page with larger pictures, or with more, opens slowly.
const LARGEST: usize = 4 << 20;
const LARGEST_ALL: usize = 32 << 20;

/// Media types by the endings of files; a browser runs no script of a picture.
const MEDIA: &[(&str, &str)] = &[
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    pub stage: String,
    /// The file among the stage's artifacts; none of one that was shown.
    pub path: Option<String>,
    pub media: &'static str,
    pub base64: String,
}

/// Those of accepted attempts, in the order of the plan, and how many are left out.
pub(super) fn figures(layout: &Layout, story: &Story) -> (Vec<Figure>, usize) {
    let (mut found, mut size, mut left_out) = (Vec::new(), 0, 0);
    for figure in story.stages.iter().flat_map(|stage| {
        let files = stage.artifacts.iter().filter_map(|artifact| of_file(layout, stage, &artifact.path));
        shown(layout, stage).into_iter().chain(files)
    }) {
        if figure.base64.len() > LARGEST || size + figure.base64.len() > LARGEST_ALL {
            left_out += 1;
            continue;
        }
        size += figure.base64.len();
        found.push(figure);
    }
    (found, left_out)
}

/// The media type of a picture, by its name.
pub(super) fn media(path: &str) -> Option<&'static str> {
    let (_, extension) = path.rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    MEDIA.iter().find(|(known, _)| *known == extension).map(|(_, media)| *media)
}

fn of_file(layout: &Layout, stage: &StageStory, path: &str) -> Option<Figure> {
    let media = media(path)?;
    let file = fingerprint::open_regular(&layout.published(&stage.id).ok()?.join(path)).ok()?;
    let mut bytes = Vec::new();
    // One byte more than is shown, so that what is too large is known to be.
    file.take(LARGEST as u64 + 1).read_to_end(&mut bytes).ok()?;
    Some(Figure { stage: stage.id.clone(), path: Some(path.to_owned()), media, base64: text::base64(&bytes) })
}

fn shown(layout: &Layout, stage: &StageStory) -> Vec<Figure> {
    let accepted = stage.attempts.iter().rfind(|attempt| attempt.outcome == Outcome::Completed);
    let folder = accepted.and_then(|attempt| layout.attempt(&stage.id, attempt.number).ok());
    let file = folder.and_then(|folder| fingerprint::open_regular(&folder.join(DISPLAYS_FILE)).ok());
    let mut figures: Vec<Figure> = Vec::new();
    // Where a display is that may be updated.
    let mut places: HashMap<String, usize> = HashMap::new();
    for line in file.into_iter().flat_map(|file| BufReader::new(file).split(b'\n')).map_while(Result::ok) {
        let Ok(display) = serde_json::from_slice::<Value>(&line) else { continue };
        let at = |pointer: &str| display.pointer(pointer);
        let Some(figure) = at("/content/data").and_then(|data| of_display(stage, data)) else { continue };
        let id = at("/content/transient/display_id").and_then(Value::as_str);
        let is_update = at("/type").is_some_and(|kind| kind == "update_display_data");
        match id.and_then(|id| places.get(id)).and_then(|place| figures.get_mut(*place)) {
            Some(place) if is_update => *place = figure,
            _ => {
                places.extend(id.map(|id| (id.to_owned(), figures.len())));
                figures.push(figure);
            }
        }
    }
    figures
}

fn of_display(stage: &StageStory, data: &Value) -> Option<Figure> {
    let (media, value) = MEDIA.iter().find_map(|(_, media)| Some((*media, data.get(media)?)))?;
    let text: String = match value {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        text => text.as_str()?.to_owned(),
    };
    let base64 = match media {
        "image/svg+xml" => text::base64(text.as_bytes()),
        _ => text.split_whitespace().collect(),
    };
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    base64.bytes().all(is_digit).then(|| Figure { stage: stage.id.clone(), path: None, media, base64 })
}
