//! The `## Last Session` section of a notes file (CLAUDE.md, GEMINI.md, AGENTS.md): replaced in place, added at the end,
//! or made with the file. A Markdown parser says where headings are, code blocks and all; the file itself is only
//! ever cut at byte positions and never rendered, so that everything outside of the section stays as it is, line
//! endings, a byte order mark and bytes that are no UTF-8 included.
//!
//! The section ends at the next heading of its own level or higher. Where a file has several such sections, the first
//! one is ours and the others are left alone.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use change_set::BytePath;
use files::atomic_file::{self, Replaced};
use files::{FileError, Links, regular_file};
use pulldown_cmark::{BrokenLink, Event, HeadingLevel, LinkType, Options, Parser, Tag, TagEnd};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

const HEADING: &str = "Last Session";

/// Notes are read by people and models; a larger file is something else.
const LARGEST: u64 = 8 * 1024 * 1024;

/// The former file, for as long as it may have to be put back.
const KEPT: &str = "notes-before";

/// What was written, for the next run after a kill.
const WRITTEN: &str = "notes-written.json";

/// What a failing commit hook has made of the notes: a person may have written into them at the same time.
const AFTER_HOOK: &str = "notes-after-hook";

pub(crate) const NEW_FILE_MODE: u32 = 0o644;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[derive(Debug, thiserror::Error)]
pub enum NotesError {
    #[error("`{path}` is not a file", path = .path.display())]
    NotAFile { path: PathBuf },
    #[error("`{path}` leads outside the repository or nowhere, through a symbolic link", path = .path.display())]
    LeadsOut { path: PathBuf },
    #[error("`{path}` is in git's own folder", path = .path.display())]
    InGit { path: PathBuf },
    #[error("`{path}` is UTF-16: save it as UTF-8", path = .path.display())]
    NotUtf8 { path: PathBuf },
    /// It names the folder.
    #[error("{0}")]
    MakeFolder(io::Error),
    #[error("`{path}` is read-only", path = .path.display())]
    ReadOnly { path: PathBuf },
    #[error("`{path}` is larger than {LARGEST} bytes", path = .path.display())]
    TooLarge { path: PathBuf },
    #[error("cannot read `{path}`: {source}", path = .path.display())]
    Read { path: PathBuf, source: io::Error },
    /// Whatever came behind it would be a part of the block.
    #[error("`{path}` ends in a code block or comment that is never closed: close it", path = .path.display())]
    OpenEnd { path: PathBuf },
    /// The heading after the section is a heading only because of the line before it, which would be replaced.
    #[error(
        "the heading after `## {HEADING}` in `{path}` cannot be separated from the line before it: begin it with `#`",
        path = .path.display()
    )]
    NoEnd { path: PathBuf },
    #[error("`{path}` kept changing while it was written", path = .path.display())]
    Changing { path: PathBuf },
    #[error("{}", text::error_chain(.0))]
    Write(#[from] FileError),
}

/// A notes file that was written, and what is needed to put it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updated {
    /// The real file; elsewhere than where it was looked for if that is a symbolic link.
    pub path: PathBuf,
    /// The same from the top of the repository, for the commit.
    pub relative: BytePath,
    /// `None` if the file was made.
    former: Option<Vec<u8>>,
    /// The former file itself under a second name: to put it back takes no room, which a full disk does not have.
    kept: Option<PathBuf>,
    now: Vec<u8>,
    /// Our own folder, on the same disk.
    aside: PathBuf,
}

/// What a run was about to commit.
#[derive(Debug, Serialize, Deserialize)]
struct PendingNotes {
    path: BytePath,
    /// Of the bytes that were written.
    hash: String,
    /// What HEAD had.
    in_head: Option<String>,
    is_made: bool,
}

impl Updated {
    pub fn is_changed(&self) -> bool {
        self.former.as_deref() != Some(&self.now)
    }

    /// Whether the section was there before.
    pub(crate) fn had_section(&self) -> bool {
        self.former.as_deref().is_some_and(|former| section(former).is_some())
    }

    /// The file stays as it is now.
    pub fn settle(&self) {
        if let Some(kept) = &self.kept {
            let _ = fs_err::remove_file(kept);
        }
        let _ = fs_err::remove_file(self.aside.join(WRITTEN));
    }

    /// Writes down what was written, so that [`bring_back`] knows it after a kill. `in_head` is the version of the file
    /// that HEAD has.
    pub fn write_down(&self, in_head: Option<&str>) {
        let is_made = self.former.is_none();
        if !self.is_changed() || (!is_made && self.kept.is_none()) {
            return;
        }
        let in_head = in_head.map(str::to_owned);
        let written = PendingNotes { path: self.relative.clone(), hash: hash(&self.now), in_head, is_made };
        if let Ok(text) = serde_json::to_vec(&written) {
            let _ = fs_err::create_dir_all(&self.aside);
            let _ = fs_err::write(self.aside.join(WRITTEN), text);
        }
    }

    /// As [`put_back`](Self::put_back), after a commit hook has failed: what changed the file meanwhile was the hook, as
    /// formatters do. In case it was not, those bytes are kept aside.
    pub fn put_back_after_hook(&self) -> Result<bool, NotesError> {
        let there = match fs_err::read(&self.path) {
            Ok(bytes) if bytes == self.now => return self.put_back(),
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(source) => return Err(self.unread(source)),
        };
        if let Some(bytes) = &there {
            let _ = fs_err::create_dir_all(&self.aside);
            let _ = fs_err::write(self.aside.join(AFTER_HOOK), bytes);
        }
        self.settle();
        let Some(former) = &self.former else {
            let gone = there.map_or(Ok(()), |_| fs_err::remove_file(&self.path));
            return gone.map(|()| true).map_err(|source| self.unread(source));
        };
        let replaced =
            atomic_file::replace_if_unchanged(&self.path, there.as_deref(), former, NEW_FILE_MODE)?;
        Ok(replaced == Replaced::Yes)
    }

    /// Gives the file its former bytes back, or removes it where it was made. What somebody wrote into it meanwhile
    /// stays; the answer tells whether it was put back.
    pub fn put_back(&self) -> Result<bool, NotesError> {
        let Some(former) = &self.former else {
            if fs_err::read(&self.path).map_err(|source| self.unread(source))? != self.now {
                return Ok(false);
            }
            fs_err::remove_file(&self.path).map_err(|source| self.unread(source))?;
            self.settle();
            return Ok(true);
        };
        if let Some(kept) = &self.kept {
            let is_ours = fs_err::read(&self.path).is_ok_and(|bytes| bytes == self.now);
            if is_ours && fs_err::rename(kept, &self.path).is_ok() {
                self.settle();
                return Ok(true);
            }
            self.settle();
        }
        let replaced = atomic_file::replace_if_unchanged(&self.path, Some(&self.now), former, NEW_FILE_MODE)?;
        Ok(replaced == Replaced::Yes)
    }

    fn unread(&self, source: io::Error) -> NotesError {
        NotesError::Read { path: self.path.clone(), source }
    }
}

/// Writes the section into the file `name` at the top of the repository. `body` is Markdown without the heading. In
/// `aside`, on the same disk, the former file is kept until it is put back or settled that it is not.
pub fn update(root: &Path, name: &str, body: &str, aside: &Path) -> Result<Updated, NotesError> {
    const ATTEMPTS: usize = 3;
    let path = real_path(root, name)?;
    let real_root = fs_err::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let relative = BytePath::from(path.strip_prefix(&real_root).unwrap_or(Path::new(name)));
    for _ in 0..ATTEMPTS {
        let former = read(&path)?;
        let file = former.as_deref().unwrap_or_default();
        let now = with_section(file, body).ok_or_else(|| match is_open(file) {
            true => NotesError::OpenEnd { path: path.clone() },
            false => NotesError::NoEnd { path: path.clone() },
        })?;
        let mut updated = Updated {
            path: path.clone(),
            relative: relative.clone(),
            former,
            kept: None,
            now,
            aside: aside.to_owned(),
        };
        if !updated.is_changed() {
            return Ok(updated);
        }
        let expected = updated.former.as_deref();
        updated.kept = expected.and_then(|former| keep(&path, former, aside));
        match atomic_file::replace_if_unchanged(&path, expected, &updated.now, NEW_FILE_MODE) {
            Ok(Replaced::Yes) => return Ok(updated),
            Ok(Replaced::Changed) => updated.settle(),
            Err(error) => {
                updated.settle();
                return Err(error.into());
            }
        }
    }
    Err(NotesError::Changing { path })
}

/// Whether the section says this already.
pub(crate) fn says(root: &Path, name: &str, body: &str) -> bool {
    fs_err::read(root.join(name)).is_ok_and(|file| with_section(&file, body).as_ref() == Some(&file))
}

/// A run that was killed before its commit has left its section in the file: where the file is still exactly that, and
/// HEAD has what it had then, the former one comes back. `in_head` tells which version of a file HEAD has.
pub fn bring_back(root: &Path, aside: &Path, in_head: impl FnOnce(&BytePath) -> Option<Option<String>>) {
    let (note, kept) = (aside.join(WRITTEN), aside.join(KEPT));
    let Ok(text) = fs_err::read(&note) else { return };
    if let Ok(written) = serde_json::from_slice::<PendingNotes>(&text) {
        let path = root.join(written.path.as_path());
        let is_ours = fs_err::read(&path).is_ok_and(|bytes| hash(&bytes) == written.hash);
        if is_ours && in_head(&written.path) == Some(written.in_head) {
            let _ = if written.is_made { fs_err::remove_file(&path) } else { fs_err::rename(&kept, &path) };
        }
    }
    let _ = fs_err::remove_file(kept);
    let _ = fs_err::remove_file(note);
}

/// What the section of the file says, below its heading; `None` if there is no file, no section, or nothing in it.
pub(crate) fn section_of(root: &Path, name: &str) -> Result<Option<String>, NotesError> {
    let path = root.join(name);
    // What is no file, or leads out, is refused where it would be written.
    let Some(file) = (if path.is_file() { read(&real_path(root, name)?)? } else { None }) else {
        return Ok(None);
    };
    let Some(at) = section(&file) else { return Ok(None) };
    let text = same_length_text(file.get(at).unwrap_or_default());
    let begins = headings(&text).first().map_or(0, |heading| heading.end);
    let body = text.get(begins..).unwrap_or_default().replace("\r\n", "\n");
    Ok(Some(body.trim().to_owned()).filter(|body| !body.is_empty()))
}

fn hash(bytes: &[u8]) -> String {
    text::hexadecimal(&Sha256::digest(bytes))
}

/// A second name for the file; `None` if the disk knows no such thing, or the file is another one by now.
fn keep(path: &Path, former: &[u8], aside: &Path) -> Option<PathBuf> {
    let kept = aside.join(KEPT);
    // Left by a save that was killed.
    let _ = fs_err::remove_file(&kept);
    fs_err::create_dir_all(aside).ok()?;
    fs_err::hard_link(path, &kept).ok()?;
    if fs_err::read(&kept).is_ok_and(|bytes| bytes == former) {
        return Some(kept);
    }
    let _ = fs_err::remove_file(&kept);
    None
}

/// Follows links (one notes file is often a link to another, and its folder may be one) as long as they stay inside. A
/// folder that is missing is made.
pub(crate) fn real_path(root: &Path, name: &str) -> Result<PathBuf, NotesError> {
    let path = root.join(name);
    let root =
        fs_err::canonicalize(root).map_err(|source| NotesError::Read { path: root.to_owned(), source })?;
    let leads_out = || NotesError::LeadsOut { path: path.clone() };
    let inside = |path: &Path| match fs_err::canonicalize(path) {
        Ok(real) if real.starts_with(root.join(".git")) => Err(NotesError::InGit { path: root.join(name) }),
        Ok(real) if real.starts_with(&root) => Ok(real),
        _ => Err(leads_out()),
    };
    if path.is_symlink() {
        return inside(&path);
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return Err(leads_out()) };
    // What is there already must not lead out before anything is made in it.
    let there = folder.ancestors().find(|folder| folder.symlink_metadata().is_ok());
    inside(there.ok_or_else(leads_out)?)?;
    fs_err::create_dir_all(folder).map_err(NotesError::MakeFolder)?;
    Ok(inside(folder)?.join(name))
}

/// `None` if there is no such file.
fn read(path: &Path) -> Result<Option<Vec<u8>>, NotesError> {
    let owned = || path.to_owned();
    let found = match path.symlink_metadata() {
        Ok(found) if !found.is_file() => return Err(NotesError::NotAFile { path: owned() }),
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(NotesError::Read { path: owned(), source }),
    };
    // A rename would replace it all the same; whoever took the write bit away did not want that.
    if found.permissions().readonly() {
        return Err(NotesError::ReadOnly { path: owned() });
    }
    match regular_file::read(path, Links::Refuse, LARGEST) {
        // What is appended to it would be something else in it.
        Ok(bytes) if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") => {
            Err(NotesError::NotUtf8 { path: owned() })
        }
        Ok(bytes) => Ok(Some(bytes)),
        Err(FileError::TooLarge { .. }) => Err(NotesError::TooLarge { path: owned() }),
        Err(error) => Err(NotesError::Read { path: owned(), source: error.into() }),
    }
}

/// The file with its section replaced or added; `None` if whatever is added would be swallowed by an open block.
pub fn with_section(file: &[u8], body: &str) -> Option<Vec<u8>> {
    let line_end = line_end(file);
    let at = section(file);
    // All that follows an open block counts as a part of it, a person's headings too.
    if at.as_ref().is_some_and(|at| at.end == file.len()) && is_open(file) {
        return None;
    }
    let place = at.clone().unwrap_or(file.len()..file.len());
    let before = file.get(..place.start)?;
    let after = file.get(place.end..)?;
    let mut start = before.to_vec();
    if at.is_none() && before != BYTE_ORDER_MARK && !before.is_empty() {
        // A blank line between the file and what is added to it.
        if !before.ends_with(b"\n") {
            start.extend_from_slice(line_end.as_bytes());
        }
        let last = before.strip_suffix(b"\n").unwrap_or(before);
        let is_blank = before.ends_with(b"\n") && (last.ends_with(b"\n") || last.ends_with(b"\n\r"));
        if !is_blank {
            start.extend_from_slice(line_end.as_bytes());
        }
    }
    let body = body.replace("\r\n", "\n").replace('\r', "\n");
    // As a code block, text cannot end the section or swallow what follows, whatever is in it.
    let as_code: String = body.lines().map(|line| format!("    {line}\n")).collect();
    [&body, &as_code].into_iter().find_map(|body| {
        let mut text = format!("## {HEADING}\n\n{}\n", body.trim_matches('\n'));
        if !after.is_empty() {
            text.push('\n');
        }
        let text = text.replace('\n', line_end);
        let end = start.len() + text.len();
        let whole = [start.as_slice(), text.as_bytes(), after].concat();
        let is_closed = !after.is_empty() || !is_open(&whole);
        (section(&whole) == Some(start.len()..end) && is_closed).then_some(whole)
    })
}

/// Whether a heading at the end of the file would be none: it ends in a code block or comment that is never closed.
fn is_open(file: &[u8]) -> bool {
    let file = file.strip_prefix(BYTE_ORDER_MARK).unwrap_or(file);
    let longer = [file, b"\n\n# End\n"].concat();
    let last = headings(&same_length_text(&longer)).pop();
    last.is_none_or(|heading| heading.text != "End" || heading.start != file.len() + 2)
}

/// The file's own, by its first line.
fn line_end(file: &[u8]) -> &'static str {
    let first = file.iter().position(|byte| *byte == b'\n').unwrap_or(file.len());
    let is_windows = first.checked_sub(1).and_then(|last| file.get(last)) == Some(&b'\r');
    if is_windows { "\r\n" } else { "\n" }
}

/// The bytes of the first section of ours, heading included.
fn section(file: &[u8]) -> Option<Range<usize>> {
    let skipped = if file.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let text = same_length_text(file.get(skipped..)?);
    let mut start = None;
    for heading in headings(&text) {
        match start {
            None if heading.is_ours() => start = Some(heading.start),
            Some(start) if heading.level <= HeadingLevel::H2 => {
                return Some(start + skipped..heading.start + skipped);
            }
            _ => {}
        }
    }
    start.map(|start| start + skipped..file.len())
}

struct Heading {
    /// Of its line.
    start: usize,
    /// Of what makes it one, an underline included.
    end: usize,
    level: HeadingLevel,
    text: String,
}

impl Heading {
    /// `Last Session`, perhaps with a date or the like behind it.
    fn is_ours(&self) -> bool {
        let rest = self.text.trim().strip_prefix(HEADING);
        let ends = |rest: &str| !rest.starts_with(|letter: char| letter.is_alphanumeric());
        self.level == HeadingLevel::H2 && rest.is_some_and(ends)
    }
}

/// Those that divide the file: not the ones in quotes, lists or code blocks. What a heading says depends on nothing outside
/// of it: every `[reference]` is a link, also without its definition, which may come and go with a section.
fn headings(text: &str) -> Vec<Heading> {
    let mut found: Vec<Heading> = Vec::new();
    let mut depth = 0;
    let mut inside = false;
    let defined = |_: BrokenLink<'_>| Some(("".into(), "".into()));
    let parser = Parser::new_with_broken_link_callback(text, Options::empty(), Some(defined));
    for (event, range) in parser.into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { level, .. }) => {
                if depth == 0 {
                    let before = text.get(..range.start).unwrap_or_default();
                    let start = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
                    found.push(Heading { start, end: range.end, level, text: String::new() });
                    inside = true;
                }
                depth += 1;
            }
            Event::End(TagEnd::Heading(_)) => {
                depth -= 1;
                inside = false;
            }
            Event::Start(tag) => {
                if let Some(heading) = found.last_mut().filter(|_| inside && is_reference(&tag)) {
                    heading.text.push('[');
                }
                depth += 1;
            }
            Event::End(_) => depth -= 1,
            Event::Text(words) | Event::Code(words) if inside => {
                if let Some(heading) = found.last_mut() {
                    heading.text.push_str(&words);
                }
            }
            Event::SoftBreak | Event::HardBreak if inside => {
                if let Some(heading) = found.last_mut() {
                    heading.text.push(' ');
                }
            }
            _ => {}
        }
    }
    found
}

/// A link to somewhere else in the text.
fn is_reference(tag: &Tag<'_>) -> bool {
    let (Tag::Link { link_type, .. } | Tag::Image { link_type, .. }) = tag else { return false };
    !matches!(link_type, LinkType::Inline | LinkType::Autolink | LinkType::Email)
}

/// The same text, with a letter for each byte that is no UTF-8, so that positions stay.
pub(crate) fn same_length_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '?'));
    }
    text
}
