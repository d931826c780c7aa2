//! The pictures of a run: those that its Python stages showed, and those among its artifacts.

use checkpoint::layout::Layout;

use super::story::{StageStory, Story};
use super::{artifact_bytes, display, of_shown_stages};

/// A page with larger pictures, or with more, opens slowly.
const LARGEST: usize = 3 << 20;
const LARGEST_ALL: usize = 24 << 20;

/// Endings of files, media types, and what such a file begins with; a browser runs no script of a picture.
const MEDIA: &[(&str, &str, &[u8])] = &[
    ("png", "image/png", b"\x89PNG\r\n\x1a\n"),
    ("svg", "image/svg+xml", b"<"),
    ("jpg", "image/jpeg", b"\xff\xd8\xff"),
    ("jpeg", "image/jpeg", b"\xff\xd8\xff"),
    ("gif", "image/gif", b"GIF8"),
    ("webp", "image/webp", b"RIFF"),
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    pub stage: String,
    /// The file, below the run's folder: among the stage's artifacts, or where [`super::Report::write`] puts what was shown.
    pub path: String,
    pub media: &'static str,
    pub bytes: Vec<u8>,
    /// Shown by a Python stage, and in no file of its own.
    pub is_display: bool,
}

/// Those of accepted attempts, of the last stages first since they hold the results, and how many are left out.
pub(super) fn figures(layout: &Layout, story: &Story) -> (Vec<Figure>, usize) {
    let (stages, mut left_out) = of_shown_stages(story, |path| media(path).is_some());
    let (mut found, mut size) = (Vec::new(), 0);
    for stage in stages.into_iter().rev() {
        let paths = stage.artifacts.iter().map(|artifact| artifact.path.as_str());
        let files = paths.filter_map(|path| of_file(layout, stage, path));
        for figure in shown(layout, stage).into_iter().chain(files) {
            if figure.bytes.len() > LARGEST || size + figure.bytes.len() > LARGEST_ALL || !is_sound(&figure) {
                left_out += 1;
                continue;
            }
            size += figure.bytes.len();
            found.push(figure);
        }
    }
    (found, left_out)
}

/// The media type of a picture, by its name.
fn media(path: &str) -> Option<&'static str> {
    let (_, extension) = path.rsplit_once('.')?;
    let extension = extension.to_ascii_lowercase();
    MEDIA.iter().find(|(known, ..)| *known == extension).map(|(_, media, _)| *media)
}

/// Whether it begins as its kind does, and a PNG also ends so: one that a stage left half-written shows nothing.
fn is_sound(figure: &Figure) -> bool {
    let bytes = if figure.media == "image/svg+xml" { figure.bytes.trim_ascii_start() } else { &figure.bytes };
    let begins_well =
        MEDIA.iter().any(|(_, media, start)| *media == figure.media && bytes.starts_with(start));
    begins_well && (figure.media != "image/png" || bytes.ends_with(b"IEND\xaeB`\x82"))
}

fn of_file(layout: &Layout, stage: &StageStory, path: &str) -> Option<Figure> {
    let media = media(path)?;
    // One byte more than is shown, so that what is too large is known to be.
    let bytes = artifact_bytes(layout, stage, path, LARGEST + 1)?;
    let path = format!("{}/{path}", stage.id);
    Some(Figure { stage: stage.id.clone(), path, media, bytes, is_display: false })
}

fn shown(layout: &Layout, stage: &StageStory) -> Vec<Figure> {
    let read = |data: &serde_json::Value| {
        let (extension, media, text) = MEDIA
            .iter()
            .find_map(|(extension, media, _)| Some((*extension, *media, display::text_of(data, media)?)))?;
        let bytes = match media {
            "image/svg+xml" => text.into_bytes(),
            _ => text::from_base64(&text.split_whitespace().collect::<String>())?,
        };
        Some(Figure { stage: stage.id.clone(), path: extension.to_owned(), media, bytes, is_display: true })
    };
    let mut figures = display::shown(layout, stage, read);
    for (number, figure) in figures.iter_mut().enumerate() {
        figure.path = format!("{}/{}-{}.{}", super::FIGURES, stage.id, number + 1, figure.path);
    }
    figures
}
