//! What a turn changed, as differences of texts: against the commit at its prompt, and as the files were committed in the turn,
//! or as they are now if this is the session's last turn.

use std::collections::BTreeMap;
use std::path::Path;

use change_set::{BytePath, Change, ChangeSet, ChangedFile, How};
use changes::{Baseline, Repository, committed_texts};
use files::{Links, regular_file};
use gate::Changes;
use journal::{JournalError, TurnId};
use maud::{Markup, html};
use similar::{ChangeTag, TextDiff};
use stop::Record;
use text::counted;

use crate::page::{Page, Part};
use crate::sources::{PageError, Sources};
use crate::words::{self, Shown, one_line};

/// Of more files, and of larger ones, the names are shown.
const MOST_FILES: usize = 40;
const LARGEST: usize = 256 * 1024;
const MOST_LINES: usize = 600;
const CONTEXT: usize = 3;

pub(crate) fn page(id: TurnId, sources: &mut Sources<'_>) -> Result<Page, PageError> {
    let unknown = || PageError::NotFound(format!("There is no turn {}; old ones are pruned.", id.0));
    let journal = sources.journal.as_mut().ok_or_else(unknown)?;
    let turn = journal.read(|reader| reader.turn_by_id(id))?.ok_or_else(unknown)?;
    let (sets, is_last) = journal.read(|reader| {
        let mut sets: BTreeMap<BytePath, ChangeSet> = BTreeMap::new();
        for verdict in reader.verdicts_of_turn(id)? {
            let record = reader.inputs(verdict.id)?.and_then(|inputs| Record::read(&inputs.bytes));
            if let Some(Changes::Known(set)) = record.map(|record| record.inputs.changes) {
                sets.insert(set.root.clone(), set);
            }
        }
        let last = reader.glance_at_turns(turn.session, None, 1)?;
        Ok::<_, JournalError>((sets, last.first().is_some_and(|last| last.id == id)))
    })?;
    let baseline: Option<Baseline> =
        turn.baseline.as_deref().and_then(|bytes| serde_json::from_slice(bytes).ok());
    let back = format!("/session/{}", turn.session.0);
    let mut parts = vec![Part::new(
        "head",
        html! {
            section {
                p { a href=(back) { "Back to the session" } }
                h1 { (Shown(&one_line(&turn.prompt, 200))) }
                p.faint { "What this turn changed, " (words::time(turn.opened_at, &sources.settings.time_zone)) }
            }
        },
    )];
    for (root, set) in &sets {
        for (place, difference) in differences(set, baseline.as_ref(), is_last, sources).iter().enumerate() {
            let id = format!("file-{}-{place}", text::hexadecimal(root.as_bytes()));
            parts.push(Part::new(id, file_markup(difference)));
        }
        if set.files.len() > MOST_FILES {
            let more = counted(set.files.len() - MOST_FILES, "more file");
            parts.push(Part::new("more", html! { p.faint { (more) " changed" } }));
        }
    }
    if sets.values().all(|set| set.files.is_empty()) {
        parts.push(Part::new(
            "nothing",
            html! { section.empty { p { "No change is recorded for this turn." } } },
        ));
    }
    Ok(Page { title: format!("{} · checkstone", one_line(&turn.prompt, 60)), parts })
}

/// A file, and what can be said of its texts.
struct FileDifference {
    path: String,
    how: &'static str,
    /// Why there is no difference to show, or what it is against.
    note: Option<&'static str>,
    lines: Vec<(ChangeTag, String)>,
    left_out: usize,
}

fn differences(
    set: &ChangeSet,
    baseline: Option<&Baseline>,
    is_last: bool,
    sources: &Sources<'_>,
) -> Vec<FileDifference> {
    let files: Vec<&ChangedFile> = set.files.iter().take(MOST_FILES).collect();
    let root = set.root.as_path();
    let repository = Repository::at(root);
    let texts_at = |commit: Option<&str>, paths: &[&BytePath]| {
        let asked = repository
            .as_ref()
            .zip(commit)
            .map(|(repository, commit)| committed_texts(repository, &sources.settings.git, commit, paths));
        asked.and_then(Result::ok).unwrap_or_else(|| paths.iter().map(|_| None).collect())
    };
    let before_paths: Vec<&BytePath> = files
        .iter()
        .map(|file| match &file.change {
            Change::Renamed { from } => from,
            _ => &file.path,
        })
        .collect();
    let base = baseline.filter(|baseline| baseline.root == set.root);
    let base_commit = base.map_or(set.head.as_deref(), |baseline| baseline.head.as_deref());
    let before = texts_at(base_commit, &before_paths);
    let paths: Vec<&BytePath> = files.iter().map(|file| &file.path).collect();
    let committed = texts_at(set.head.as_deref(), &paths);
    let texts = before.into_iter().zip(committed);
    let one = |(file, (before, committed)): (&&ChangedFile, (Option<String>, Option<String>))| {
        let was_dirty =
            base.is_some_and(|baseline| baseline.files.iter().any(|known| known.path == file.path));
        let is_clean = file.how.iter().all(|how| *how == How::Committed);
        let (after, problem) = match (&file.change, is_clean, is_last) {
            (Change::Deleted, ..) => (Some(String::new()), None),
            (_, true, _) => (committed, None),
            (_, false, true) => (text_now(root, &file.path), None),
            (_, false, false) => {
                (None, Some("Later turns changed it again: its text at that time was not kept."))
            }
        };
        FileDifference::of(
            file,
            before,
            after,
            problem.or(was_dirty.then_some(
                "It had uncommitted changes before this turn: the difference is against the last commit.",
            )),
        )
    };
    files.iter().zip(texts).map(one).collect()
}

/// No link is followed out of the repository.
fn text_now(root: &Path, path: &BytePath) -> Option<String> {
    let path = root.join(path.as_path());
    let real = fs_err::canonicalize(&path).ok().filter(|real| real.starts_with(root))?;
    let bytes = regular_file::read(&real, Links::Refuse, LARGEST as u64 + 1).ok()?;
    String::from_utf8(bytes).ok()
}

impl FileDifference {
    fn of(
        file: &ChangedFile,
        before: Option<String>,
        after: Option<String>,
        note: Option<&'static str>,
    ) -> Self {
        let how = match &file.change {
            Change::Added => "added",
            Change::Modified => "modified",
            Change::Deleted => "deleted",
            Change::Renamed { .. } => "renamed",
            Change::Mode => "mode changed",
        };
        let mut difference = Self { path: file.path.to_string(), how, note, lines: Vec::new(), left_out: 0 };
        let before = before.unwrap_or_default();
        let Some(after) = after else {
            difference.note = note.or(Some("Its content is gone, or it is not text."));
            return difference;
        };
        if before.len().max(after.len()) > LARGEST {
            difference.note = Some("It is too large to show.");
            return difference;
        }
        let compared = TextDiff::from_lines(&before, &after);
        for (place, group) in compared.grouped_ops(CONTEXT).iter().enumerate() {
            if place > 0 {
                difference.lines.push((ChangeTag::Equal, "⋯\n".to_owned()));
            }
            let changes = group.iter().flat_map(|operation| compared.iter_changes(operation));
            difference.lines.extend(changes.map(|change| (change.tag(), change.value().to_owned())));
        }
        difference.left_out = difference.lines.len().saturating_sub(MOST_LINES);
        difference.lines.truncate(MOST_LINES);
        if difference.lines.is_empty() && note.is_none() {
            difference.note = Some("It is now as it was before this turn.");
        }
        difference
    }
}

fn file_markup(difference: &FileDifference) -> Markup {
    html! {
        section.diff {
            header { code { (Shown(&difference.path)) } span.faint { (difference.how) } @if let Some(note) = difference.note { span.faint { (note) } } }
            @if !difference.lines.is_empty() {
                pre {
                    @for (tag, line) in &difference.lines {
                        @let (class, sign) = match tag { ChangeTag::Insert => ("added", "+"), ChangeTag::Delete => ("removed", "-"), ChangeTag::Equal => ("same", " ") };
                        span class=(class) { (sign) (Shown(line.trim_end_matches(['\n', '\r']))) }
                    }
                }
            }
            @if difference.left_out > 0 { p.faint { (counted(difference.left_out, "more line")) } }
        }
    }
}
