//! That the pictures which the documents show are there, and are such that they can be shown anywhere: well-formed,
//! self-contained, and without a path of the machine that made them.

use std::path::PathBuf;

use super::FOLDER;
use crate::root;

/// The documents that may show a picture.
fn documents() -> Vec<PathBuf> {
    let markdown = |folder: PathBuf| {
        let files = fs_err::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        files.filter(|file| file.extension().is_some_and(|extension| extension == "md"))
    };
    markdown(root()).chain(markdown(root().join("docs"))).collect()
}

/// The files that a document shows: `![…](file)`.
fn shown(text: &str) -> Vec<&str> {
    text.split("![").skip(1).filter_map(|rest| Some(rest.split_once("](")?.1.split_once(')')?.0)).collect()
}

fn pictures() -> Vec<(String, String)> {
    let files = fs_err::read_dir(root().join(FOLDER)).unwrap().map(|entry| entry.unwrap().path());
    let drawn = files.filter(|file| file.extension().is_some_and(|extension| extension == "svg"));
    drawn.map(|file| (file.display().to_string(), fs_err::read_to_string(file).unwrap())).collect()
}

/// Why it is no well-formed XML of elements, attributes in double quotes, and text.
fn mistake(svg: &str) -> Option<String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = svg;
    while let Some((text, tag)) = rest.split_once('<') {
        if text.contains('>') || (open.is_empty() && !text.trim().is_empty()) {
            return Some(format!("stray text: {text:.60}"));
        }
        let Some((tag, after)) = tag.split_once('>') else {
            return Some(format!("a tag without an end: {tag:.60}"));
        };
        rest = after;
        let (name, attributes) = tag.trim_end_matches('/').split_once(' ').unwrap_or((tag, ""));
        let quotes: Vec<&str> = attributes.split('"').collect();
        let is_sound = quotes.len() % 2 == 1
            && quotes.last().is_some_and(|rest| rest.is_empty())
            && quotes.chunks_exact(2).all(|pair| pair[0].ends_with('=') && !pair[1].contains('<'));
        if !is_sound {
            return Some(format!("attributes of {name}: {attributes:.60}"));
        }
        if let Some(name) = name.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Some(format!("</{name}> ends nothing"));
            }
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    let entities = ["amp;", "lt;", "gt;"];
    let stray = svg.split('&').skip(1).find(|rest| !entities.iter().any(|entity| rest.starts_with(entity)));
    match (open.first(), stray) {
        (Some(name), _) => Some(format!("<{name}> has no end")),
        (None, Some(stray)) => Some(format!("a stray & before {stray:.20}")),
        (None, None) if !rest.trim().is_empty() => Some(format!("text after the end: {rest:.60}")),
        (None, None) => None,
    }
}

#[test]
fn mistakes_are_found() {
    assert_eq!(mistake("<svg a=\"1\"><rect b=\"2\"/><text>a &lt; b</text></svg>\n"), None);
    for wrong in [
        "<svg>",
        "<svg></a></svg>",
        "<svg a=1/>",
        "<svg a=\"1/>",
        "<svg>&nbsp;</svg>",
        "<svg/>x",
        "<svg>a > b</svg>",
    ] {
        assert!(mistake(wrong).is_some(), "{wrong}");
    }
}

#[test]
fn every_picture_that_a_document_shows_is_there() {
    let mut count = 0;
    for document in documents() {
        let text = fs_err::read_to_string(&document).unwrap();
        for file in shown(&text).into_iter().filter(|file| !file.contains("://")) {
            let file = document.parent().unwrap().join(file);
            assert!(file.is_file(), "{} shows {}", document.display(), file.display());
            count += 1;
        }
    }
    assert!(count >= 5, "the pictures are shown: {count}");
}

#[test]
fn every_picture_is_well_formed_and_stands_alone() {
    for (file, svg) in pictures() {
        assert_eq!(mistake(&svg), None, "{file}");
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" "), "{file}");
        for outside in ["href", "url(", "@import", "<image", "<script", "<style", "<foreignObject", "<!"] {
            assert!(!svg.contains(outside), "{file} has {outside}");
        }
        assert_eq!(svg.matches("://").count(), 1, "{file} names nothing but its own format");
    }
}

#[test]
fn no_picture_tells_of_the_machine_that_made_it() {
    let here = root().display().to_string();
    for (file, svg) in pictures() {
        for path in ["/tmp", "/root", "/work", "/var", "/usr", "/opt", here.as_str()] {
            assert!(!svg.contains(path), "{file} has {path}");
        }
        let homes = svg.matches("/home/").count();
        assert_eq!(homes, svg.matches("/home/ann").count(), "{file} has somebody's home");
    }
}
