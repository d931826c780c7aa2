//! The documents as a book with search: `target/book/html/index.html`. Its pages lie in the book as they lie in the repository, so that
//! every link between them is the same in both.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::dependencies::installed;
use crate::process;
use crate::root;
use crate::steps::Done;

/// The list of chapters.
const CHAPTERS: &str = "docs/SUMMARY.md";

/// What pages may link to.
const COPIED: [&str; 9] = [
    "README.md",
    "LIMITS.md",
    "CHANGELOG.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "LICENSE-MIT",
    "LICENSE-APACHE",
    "docs",
    "schemas",
];

const SETTINGS: &str = "[book]\ntitle = \"checkstone\"\nlanguage = \"en\"\nsrc = \"src\"\n\
    [build]\nbuild-dir = \"html\"\ncreate-missing = false\n\
    [output.html]\nno-section-label = true\n";

/// Builds the book, and follows every link in it.
pub(crate) fn build() -> Result<Done, String> {
    let mdbook = installed("mdbook", "0.5.4")?;
    let book = root().join("target/book");
    let said = |error: std::io::Error| error.to_string();
    if book.exists() {
        fs_err::remove_dir_all(&book).map_err(said)?;
    }
    for name in COPIED {
        copy(&root().join(name), &book.join("src").join(name)).map_err(said)?;
    }
    let chapters = fs_err::read_to_string(root().join(CHAPTERS)).map_err(said)?;
    fs_err::write(book.join("src/SUMMARY.md"), from_root(&chapters)).map_err(said)?;
    fs_err::write(book.join("book.toml"), SETTINGS).map_err(said)?;
    process::run(Command::new(mdbook).arg("build").arg(&book))?;
    let (pages, broken) = broken_links(&book.join("html")).map_err(said)?;
    if !broken.is_empty() {
        let list: String = broken.iter().map(|link| format!("\n  {link}")).collect();
        return Err(format!("links of the book lead nowhere:{list}"));
    }
    println!("{pages} pages, every link followed: {}", book.join("html/index.html").display());
    Ok(Done::Passed)
}

/// The chapters are listed in `docs`; the book begins one folder above.
fn from_root(chapters: &str) -> String {
    chapters.replace("](", "](docs/").replace("](docs/../", "](")
}

fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.is_dir() {
        fs_err::create_dir_all(to.parent().unwrap_or(to))?;
        return fs_err::copy(from, to).map(drop);
    }
    for entry in fs_err::read_dir(from)? {
        let name = entry?.file_name();
        copy(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}

/// How many pages there are, and the links between them that lead to no file or to no place on the page.
fn broken_links(folder: &Path) -> std::io::Result<(usize, BTreeSet<String>)> {
    let mut pages = HashMap::new();
    read_pages(folder, &mut pages)?;
    let mut broken = BTreeSet::new();
    for (path, page) in &pages {
        let targets = [" href=\"", " src=\""].into_iter().flat_map(|before| page.split(before).skip(1));
        for target in targets.filter_map(|rest| rest.split_once('"')).map(|(target, _)| target) {
            if target.contains(':') || target.starts_with('/') {
                continue;
            }
            let (file, place) = target.split_once('#').unwrap_or((target, ""));
            let there = match file {
                "" => path.clone(),
                file => normal(&path.parent().unwrap_or(folder).join(file)),
            };
            let has_place = |page: &String| place.is_empty() || page.contains(&format!("id=\"{place}\""));
            if !there.exists() || !pages.get(&there).is_none_or(has_place) {
                let name = path.strip_prefix(folder).unwrap_or(path);
                broken.insert(format!("{}: {target}", name.display()));
            }
        }
    }
    Ok((pages.len(), broken))
}

fn read_pages(folder: &Path, pages: &mut HashMap<PathBuf, String>) -> std::io::Result<()> {
    for entry in fs_err::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            read_pages(&path, pages)?;
        } else if path.extension().is_some_and(|extension| extension == "html") {
            let page = fs_err::read_to_string(&path)?;
            // It shows what is not there, on purpose, and has links from the site's root.
            if path.file_name().is_some_and(|name| name != "404.html" && name != "print.html") {
                pages.insert(path, page);
            }
        }
    }
    Ok(())
}

/// Without `..`; links between pages have no symbolic links in them.
fn normal(path: &Path) -> PathBuf {
    path.components().fold(PathBuf::new(), |mut made, part| {
        match part {
            std::path::Component::ParentDir => drop(made.pop()),
            part => made.push(part),
        }
        made
    })
}

/// The pages in `docs` that no chapter is made of.
pub(crate) fn left_out(documents: &[String], chapters: &str) -> Vec<String> {
    let is_missing = |name: &&String| {
        let page = name.strip_prefix("docs/").filter(|page| !page.contains('/') && *page != "SUMMARY.md");
        page.is_some_and(|page| page.ends_with(".md") && !chapters.contains(&format!("]({page})")))
    };
    documents.iter().filter(is_missing).map(|name| format!("{name} is not in {CHAPTERS}")).collect()
}
