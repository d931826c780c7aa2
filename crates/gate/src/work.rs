//! What the agent did, as the rules ask for it: which commands ran, which files were edited and read, in
//! which order. The order counts inside one command line too: `sed -i … && pytest`.

use std::cell::{LazyCell, OnceCell};
use std::collections::{BTreeMap, BTreeSet};

use change_set::{Change, ChangedFile, How, Scope};
use contents::{Nature, TextHash};
use jiff::Timestamp;
use programs::Deed;
use programs::repository::Repository;
use programs::shell::{Intents, SimpleCommand, one_spelling};
use transcript::{Call, FileEdit, Kind, Outcome};

use crate::inputs::{Changes, Inputs, RecordedCall};
use crate::ledger_extract::ProvenFile;
use crate::ran::{Moment, Ran};
use crate::rules::verification::{self, VerifyingRun};

/// Clocks and records are not more exact than this.
pub(crate) const SLACK_NS: i128 = 1_000_000_000;

/// A file at a moment.
#[derive(Debug)]
struct Touch<'a> {
    path: String,
    at: Moment,
    need: ProofNeed<'a>,
    /// What the file held before and after, if its whole text is known.
    whole: Option<WholeTexts>,
    /// A later edit took it back.
    is_taken_back: bool,
    /// The file was removed.
    is_gone: bool,
}

#[derive(Clone, Copy, Debug)]
struct WholeTexts {
    before: Option<TextHash>,
    after: TextHash,
}

impl WholeTexts {
    fn of(edits: &[&FileEdit]) -> Option<Self> {
        let is_whole = edits.iter().all(|edit| edit.whole);
        let (first, last) = (edits.first()?, edits.last()?);
        last.after.filter(|_| is_whole).map(|after| Self { before: first.before, after })
    }
}

/// Whether a run could say something about what was done; comments, layout and version numbers need no proof, and neither
/// does what was taken back.
#[derive(Debug)]
enum ProofNeed<'a> {
    Known(bool),
    /// By what these did to the text, which costs something to find out.
    OfEdits(Vec<&'a FileEdit>),
}

impl Touch<'_> {
    fn needs_proof(&self) -> bool {
        match &self.need {
            ProofNeed::Known(needs_proof) => *needs_proof,
            ProofNeed::OfEdits(edits) => edits.iter().any(|edit| edit.nature.get() == Nature::Code),
        }
    }

    /// What was done changed no code. That it was taken back later says nothing of that.
    fn leaves_code(&self) -> bool {
        !self.is_taken_back && !self.needs_proof()
    }
}

#[derive(Debug)]
pub(crate) struct Work<'a> {
    calls: &'a [RecordedCall],
    /// Edits and writes that took place, by path.
    edits: Vec<Touch<'a>>,
    reads: Vec<Touch<'a>>,
    paths: Paths<'a>,
    inputs: &'a Inputs,
    /// Made when a rule asks for them.
    verifying_runs: OnceCell<Vec<VerifyingRun<'a>>>,
}

/// One spelling for one file: relative to the root of the repository, absolute outside of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paths<'a> {
    cwd: &'a str,
    root: &'a str,
}

impl<'a> Paths<'a> {
    pub(crate) fn new(cwd: &'a str, root: &'a str) -> Self {
        Self { cwd, root: root.trim_end_matches('/') }
    }

    /// The path from the root of the file system.
    pub(crate) fn absolute(&self, path: &str) -> String {
        match path.starts_with('/') {
            true => one_spelling("", path),
            false => one_spelling(&format!("/{}", self.cwd), path),
        }
    }

    pub(crate) fn one(&self, path: &str) -> String {
        let absolute = self.absolute(path);
        match absolute.strip_prefix(self.root).and_then(|rest| rest.strip_prefix('/')) {
            Some(relative) if !self.root.is_empty() => relative.to_owned(),
            _ => absolute,
        }
    }
}

/// A call in one short line: its command, or the tool and its file. What fails is mostly at the end of a long command.
pub(crate) fn shown(call: &Call) -> String {
    const LONGEST: usize = 80;
    let text = match (&call.command, call.kind) {
        (Some(command), Kind::Shell) => on_one_line(command),
        _ => [call.tool.as_str(), call.path.as_deref().unwrap_or_default()].join(" ").trim().to_owned(),
    };
    text::shortened_inside(&text.replace('`', "'"), LONGEST)
}

/// The command without the text that it is given: of a heredoc the first line stands for all.
fn on_one_line(command: &str) -> String {
    let mut words = Vec::new();
    let mut lines = command.lines();
    while let Some(line) = lines.next() {
        words.extend(line.split_whitespace());
        if let Some(end) = end_of_heredoc(line)
            && lines.by_ref().any(|line| line.trim() == end)
        {
            words.push("…");
        }
    }
    words.join(" ")
}

/// The word that ends a heredoc which begins in this line.
fn end_of_heredoc(line: &str) -> Option<&str> {
    let (_, after) = line.split_once("<<")?;
    let word = after.trim_start_matches(['-', '~', ' ', '\'', '"', '\\']);
    let end = word.find(|character: char| !character.is_alphanumeric() && character != '_');
    let word = word.get(..end.unwrap_or(word.len()))?;
    (!word.is_empty() && !after.starts_with('<')).then_some(word)
}

impl<'a> Work<'a> {
    pub(crate) fn new(inputs: &'a Inputs, root: &'a str) -> Self {
        let paths = Paths::new(&inputs.cwd, root);
        let mut work = Self {
            calls: &inputs.calls,
            edits: Vec::new(),
            reads: Vec::new(),
            paths,
            inputs,
            verifying_runs: OnceCell::new(),
        };
        for (number, recorded) in inputs.calls.iter().enumerate() {
            work.take(number, recorded);
        }
        work.leave_what_was_taken_back();
        work
    }

    fn take(&mut self, number: usize, recorded: &'a RecordedCall) {
        let call = &recorded.call;
        let whole = Moment { call: number, command: 0 };
        let touches = |paths: &[String]| -> Vec<Touch<'a>> {
            let touch = |path: &String| {
                let edits: Vec<&FileEdit> = call.edits.iter().filter(|edit| edit.path == *path).collect();
                // A patch shows the texts of all files but those that it removes.
                let is_gone = !call.edits.is_empty() && edits.is_empty() && !call.created.contains(path);
                let texts = WholeTexts::of(&edits);
                let need = if edits.is_empty() { ProofNeed::Known(true) } else { ProofNeed::OfEdits(edits) };
                Touch {
                    path: self.paths.one(path),
                    at: whole,
                    need,
                    whole: texts,
                    is_taken_back: false,
                    is_gone,
                }
            };
            paths.iter().map(touch).collect()
        };
        match call.kind {
            // A call that failed or was refused changed nothing; one without a result may have.
            Kind::Edit | Kind::Write if call.outcome != Outcome::Error => {
                let touched = touches(&call.paths);
                self.edits.extend(touched);
            }
            Kind::Read if call.outcome != Outcome::Error => {
                let touched = touches(&call.paths);
                self.reads.extend(touched);
            }
            Kind::Shell => {
                let touched = touches(&call.paths);
                self.reads.extend(touched);
                self.take_commands(number, recorded.intents.as_ref());
            }
            _ => {}
        }
    }

    /// A command that failed may have edited before it did.
    fn take_commands(&mut self, number: usize, intents: Option<&Intents>) {
        for (place, command) in intents.map(Intents::commands).unwrap_or_default().iter().enumerate() {
            let at = Moment { call: number, command: place };
            // What a formatter rewrites is the code that was tested, so that tests before it stay fresh; holding for
            // `cargo test && cargo fmt` would teach people to switch the gate off.
            let edited = if command.deed() == Deed::Formats { &[][..] } else { &command.edits.paths };
            let needs_proof = LazyCell::new(|| !only_counts_up(command));
            for path in edited {
                // A new time is no new content, unless it makes anew what was removed.
                if only_sets_times(command) && !self.is_gone(&self.paths.one(path)) {
                    continue;
                }
                let is_gone = command.edits.gone.contains(path);
                let need = ProofNeed::Known(*needs_proof);
                self.edits.push(Touch {
                    path: self.paths.one(path),
                    at,
                    need,
                    whole: None,
                    is_taken_back: false,
                    is_gone,
                });
            }
            for path in &command.reads {
                let need = ProofNeed::Known(false);
                self.reads.push(Touch {
                    path: self.paths.one(path),
                    at,
                    need,
                    whole: None,
                    is_taken_back: false,
                    is_gone: false,
                });
            }
        }
    }

    /// Edits that a later one took back leave nothing to prove: the inverse edit, the content of before, `git checkout` of the
    /// file, and the removal of a file that the turn had made (W21).
    fn leave_what_was_taken_back(&mut self) {
        let mut files: BTreeMap<String, FileHistory> = BTreeMap::new();
        for place in 0..self.edits.len() {
            let Some(Touch { path, at, .. }) = self.edits.get(place) else { continue };
            let Some(recorded) = self.calls.get(at.call) else { continue };
            let history = files.entry(path.clone()).or_default();
            let command = recorded.intents.as_ref().and_then(|intents| intents.commands().get(at.command));
            match (recorded.call.kind, command) {
                (Kind::Shell, Some(command)) => history.command(place, command),
                _ => {
                    let is_made = recorded.call.created.iter().any(|made| self.paths.one(made) == *path);
                    let edits = recorded.call.edits.iter().filter(|edit| self.paths.one(&edit.path) == *path);
                    history.edit(place, is_made, edits);
                }
            }
        }
        for place in files.values().flat_map(|history| &history.taken_back) {
            if let Some(touch) = self.edits.get_mut(*place) {
                (touch.need, touch.is_taken_back) = (ProofNeed::Known(false), true);
            }
        }
    }

    pub(crate) fn paths(&self) -> Paths<'a> {
        self.paths
    }

    pub(crate) fn calls(&self) -> impl DoubleEndedIterator<Item = (usize, &'a RecordedCall)> {
        self.calls.iter().enumerate()
    }

    /// Every command of every shell call, in order.
    pub(crate) fn commands(&self) -> impl Iterator<Item = Ran<'a>> {
        self.calls.iter().enumerate().flat_map(|(number, recorded)| {
            let commands = recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
            commands.iter().enumerate().map(move |(place, command)| Ran {
                at: Moment { call: number, command: place },
                call: &recorded.call,
                recorded,
                command,
            })
        })
    }

    /// The runs that verify code, in order.
    pub(crate) fn verifying_runs(&self) -> &[VerifyingRun<'a>] {
        self.verifying_runs.get_or_init(|| {
            verification::of_turn(self.calls, self.inputs.repository.as_ref(), &self.inputs.cwd)
        })
    }

    /// What proved the present content of a file before this stop.
    pub(crate) fn earlier_proof(&self, path: &str, action: &str) -> Option<&'a ProvenFile> {
        self.inputs.ledger.proof_of(path, action)
    }

    /// The last edit that a run has to come after.
    pub(crate) fn last_edit_of_all(&self) -> Option<Moment> {
        self.edits.iter().rev().find(|touch| touch.needs_proof()).map(|touch| touch.at)
    }

    /// Where the command lines began.
    pub(crate) fn cwd(&self) -> &'a str {
        &self.inputs.cwd
    }

    /// Whether a command surely executes this script.
    pub(crate) fn is_executed_by(&self, command: &SimpleCommand, path: &str) -> bool {
        self.repository().is_some_and(|repository| repository.is_executed_by(command, &self.inputs.cwd, path))
    }

    /// The repository's own words, where they are known.
    pub(crate) fn repository(&self) -> Option<&'a Repository> {
        self.inputs.repository.as_ref()
    }

    /// When the turn ended, in nanoseconds since 1970.
    pub(crate) fn stopped_at(&self) -> Option<i128> {
        self.inputs.stop.at_ns.map(i128::from)
    }

    /// Files that were edited, and of which nothing is left to prove.
    pub(crate) fn files_without_need(&self) -> BTreeSet<&str> {
        let mut files: BTreeSet<&str> = self.edits.iter().map(|touch| touch.path.as_str()).collect();
        for touch in self.edits.iter().rev() {
            if files.contains(touch.path.as_str()) && touch.needs_proof() {
                files.remove(touch.path.as_str());
            }
        }
        files.retain(|file| !self.is_taken_back(file) || self.may_be_back(file));
        if let Changes::Known(set) = &self.inputs.changes {
            let is_only_mode = |file: &&ChangedFile| file.change == Change::Mode && is_on_disk_alone(file);
            let only_mode = set.files.iter().filter(is_only_mode);
            // A path that is no text is spelled in another way, and needs proof.
            files.extend(only_mode.filter_map(|file| std::str::from_utf8(file.path.as_bytes()).ok()));
        }
        files.extend(self.inputs.without_need.iter().map(String::as_str));
        files
    }

    /// Whether all edits of the file were taken back.
    pub(crate) fn is_taken_back(&self, file: &str) -> bool {
        let mut touches = self.edits.iter().filter(|touch| touch.path == file).peekable();
        touches.peek().is_some() && touches.all(|touch| touch.is_taken_back)
    }

    /// A file that is not what it was when the turn began is back at most to what was committed then: `git checkout` after a
    /// commit restores what nobody has tested, and others may have written the file meanwhile.
    fn may_be_back(&self, file: &str) -> bool {
        match &self.inputs.changes {
            Changes::Known(set) if set.scope == Scope::TurnBaseline => {
                let changed = set.files.iter().find(|changed| changed.path.as_bytes() == file.as_bytes());
                changed.is_none_or(|changed| changed.how == [How::NoLongerDirty])
            }
            _ => true,
        }
    }

    /// Whether a run at this moment saw the code that the file has now, whoever wrote it again since and when: the last edit
    /// before the run left this very text, or one that only edits of comments and the like tell from it.
    pub(crate) fn has_present_code_at(&self, file: &str, ran: Moment) -> bool {
        let Some(present) = self.inputs.present.get(file) else { return false };
        let touches = || self.edits.iter().filter(|touch| touch.path == file);
        let Some(last) = touches().rfind(|touch| touch.at < ran) else { return false };
        let Some(mut seen) = last.whole.map(|texts| texts.after) else { return false };
        // What a stash, a checkout or a fixer made of it before the run is not known.
        if self.may_rewrite_any(last.at, ran) {
            return false;
        }
        for later in touches().filter(|touch| touch.at > ran) {
            match later.whole {
                _ if seen == *present => return true,
                Some(texts) if texts.before == Some(seen) && later.leaves_code() => seen = texts.after,
                _ => return false,
            }
        }
        seen == *present
    }

    /// Whether a command between these moments may change files that it does not name. What runs the program, or verifies, is
    /// taken to leave them alone, and so is what sets up an environment or a service: `source .venv/bin/activate`.
    fn may_rewrite_any(&self, after: Moment, before: Moment) -> bool {
        let mut calls = self.calls.iter().take(before.call).skip(after.call);
        let mut commands = self.commands().filter(|ran| after < ran.at && ran.at < before);
        calls.any(|recorded| matches!(recorded.intents, Some(Intents::NotUnderstood(_))))
            || commands.any(|ran| match ran.command.deed() {
                Deed::Formats => false,
                // What the repository's own scripts and tasks do is not known, unless they only tell of themselves.
                Deed::Other if ran.command.is_of_repository() => !ran.command.only_looks(),
                _ => ran.command.edits.others,
            })
    }

    /// When one of the files was last edited so that a run could say something about it.
    pub(crate) fn last_edit_that_needs_proof(&self, files: &BTreeSet<String>) -> Option<Moment> {
        // They stand in the order of their moments.
        let mut edits = self.edits.iter().rev().filter(|touch| files.contains(&touch.path));
        edits.find(|touch| touch.needs_proof()).map(|touch| touch.at)
    }

    /// Whether the same command line goes on to change files that it does not name (L6): a fixer, a patch.
    pub(crate) fn rewrites_after(&self, ran: &Ran<'_>) -> bool {
        let all = ran.recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
        let rewrites = |command: &SimpleCommand| command.edits.others && command.deed() != Deed::Formats;
        all.iter().skip(ran.at.command + 1).any(rewrites)
    }

    /// When one of the files was edited last, as far as calls tell.
    pub(crate) fn last_edit(&self, files: &BTreeSet<String>) -> Option<Moment> {
        self.edits.iter().filter(|touch| files.contains(&touch.path)).map(|touch| touch.at).max()
    }

    /// Whether a file that was written at this time, after the moment, was only laid out anew, by a formatter or by
    /// the hooks of a commit, or got a new time alone.
    pub(crate) fn was_laid_out(&self, file: &str, written: Timestamp, after: Moment) -> bool {
        let is_layout = |ran: &Ran<'_>| {
            let all = ran.recorded.intents.as_ref().map(Intents::commands).unwrap_or_default();
            let is_touched = || only_sets_times(ran.command) && self.is_named(file, ran.command);
            (matches!(ran.command.deed(), Deed::Formats | Deed::Commits) || is_touched())
                && all.iter().all(|command| command.stands_by() || only_sets_times(command))
        };
        self.commands().filter(|ran| ran.at > after).filter(is_layout).any(|ran| {
            ran.call.at.zip(ran.call.ended_at).is_some_and(|(began, ended)| {
                let written = written.as_nanosecond();
                began.as_nanosecond() - SLACK_NS <= written && written <= ended.as_nanosecond() + SLACK_NS
            })
        })
    }

    /// Whether no call shows who wrote one of the files.
    pub(crate) fn has_unknown_writer(&self, files: &BTreeSet<String>) -> bool {
        let edited: BTreeSet<&str> = self.edits.iter().map(|touch| touch.path.as_str()).collect();
        files.iter().any(|file| !edited.contains(file.as_str()))
    }

    /// Whether the last thing that was done to the file was to remove it.
    pub(crate) fn is_gone(&self, file: &str) -> bool {
        self.edits.iter().rfind(|touch| touch.path == file).is_some_and(|touch| touch.is_gone)
    }

    pub(crate) fn was_edited(&self, file: &str) -> bool {
        self.edits.iter().any(|touch| touch.path == file)
    }

    /// Whether the file was edited, or made sure to be there, after the call.
    pub(crate) fn was_edited_after(&self, file: &str, call: usize) -> bool {
        let mut commands = self.commands().filter(|ran| ran.at.call > call && only_sets_times(ran.command));
        self.edits.iter().any(|touch| touch.path == file && touch.at.call > call)
            || commands.any(|ran| self.is_named(file, ran.command))
    }

    /// Whether a command writes this file by its name.
    fn is_named(&self, file: &str, command: &SimpleCommand) -> bool {
        command.edits.paths.iter().any(|path| self.paths.one(path) == file)
    }

    /// When the file was first read or written by a call.
    pub(crate) fn first_known(&self, file: &str) -> Option<Moment> {
        self.reads.iter().chain(&self.edits).filter(|touch| touch.path == file).map(|touch| touch.at).min()
    }
}

/// Whether the file on disk shows all that changed: nothing of it lies on a branch that was left, in a conflict or in the index
/// alone.
pub fn is_on_disk_alone(file: &ChangedFile) -> bool {
    let is_elsewhere = |how: &How| match how {
        How::CommittedElsewhere | How::Unmerged | How::Arrived => true,
        How::Committed | How::Staged | How::Unstaged | How::Untracked | How::NoLongerDirty => false,
    };
    let has_two = [How::Staged, How::Unstaged].iter().all(|how| file.how.contains(how));
    !has_two && !file.how.iter().any(is_elsewhere)
}

/// `touch FILE`: what is there keeps its content, and what it makes is empty.
fn only_sets_times(command: &SimpleCommand) -> bool {
    command.program == "touch"
}

/// `sed -i 's/version = "1.0.1"/version = "1.0.2"/'`: what is replaced differs in a number alone (W6).
fn only_counts_up(command: &SimpleCommand) -> bool {
    let without_number = |text: &str| -> String {
        text.chars()
            .filter(|character| !matches!(character, '0'..='9' | '.' | '\\' | '^' | '$' | ' ' | '*'))
            .collect()
    };
    let counts_up = |script: &str| {
        let Some(mark) = script.strip_prefix('s').and_then(|rest| rest.chars().next()) else { return false };
        let parts: Vec<&str> = script.split(mark).collect();
        let is_version =
            |text: &str| text.matches('.').count() > 1 || text.to_lowercase().contains("version");
        matches!(parts.as_slice(), [_, old, new, _] if is_version(old) && without_number(old) == without_number(new))
    };
    let is_script = |word: &&str| {
        word.starts_with('s')
            && word.chars().nth(1).is_some_and(|mark| !mark.is_alphanumeric() && mark != '.')
    };
    let scripts: Vec<&str> = command.known_arguments().filter(is_script).collect();
    command.program == "sed" && !scripts.is_empty() && scripts.into_iter().all(counts_up)
}

/// The edits of one file, as long as nothing took them back.
#[derive(Debug, Default)]
struct FileHistory {
    /// The turn made the file.
    is_made: bool,
    open: Vec<OpenEdit>,
    /// Places of edits that leave nothing to prove.
    taken_back: Vec<usize>,
}

/// An edit that nothing took back so far.
#[derive(Debug)]
struct OpenEdit {
    place: usize,
    before: Option<TextHash>,
    after: Option<TextHash>,
    is_whole: bool,
}

impl FileHistory {
    fn edit<'a>(&mut self, place: usize, is_made: bool, edits: impl Iterator<Item = &'a FileEdit>) {
        self.is_made |= is_made && self.open.is_empty();
        let before = self.open.len();
        for edit in edits {
            let FileEdit { before, after, whole: is_whole, .. } = *edit;
            let is_back =
                |open: &OpenEdit| open.is_whole == is_whole && open.before.is_some() && open.before == after;
            // The whole content may be that of any time before; of a part only the last edit is known to be taken back.
            let found = match is_whole {
                true => self.open.iter().position(is_back),
                false => self.open.iter().rposition(|open| is_back(open) && open.after == before),
            };
            match found {
                Some(from) if is_whole || from + 1 == self.open.len() => {
                    self.taken_back.extend(self.open.drain(from..).map(|open| open.place));
                    self.taken_back.push(place);
                }
                _ => self.open.push(OpenEdit { place, before, after, is_whole }),
            }
        }
        if self.open.len() == before && !self.taken_back.contains(&place) {
            self.open.push(OpenEdit { place, before: None, after: None, is_whole: false });
        }
        // An edit of several parts is taken back when all of its parts are.
        let open: Vec<usize> = self.open.iter().map(|open| open.place).collect();
        self.taken_back.retain(|place| !open.contains(place));
    }

    fn command(&mut self, place: usize, command: &SimpleCommand) {
        let subcommand = command.known_arguments().find(|word| !word.starts_with('-'));
        let restores = command.program == "git"
            && matches!(subcommand, Some("checkout" | "restore"))
            && !names_another_revision(command);
        let removes = self.is_made && matches!(command.program.as_str(), "rm" | "unlink");
        if restores || removes {
            self.taken_back.extend(self.open.drain(..).map(|open| open.place));
            self.taken_back.push(place);
        } else {
            self.open.push(OpenEdit { place, before: None, after: None, is_whole: false });
        }
    }
}

/// `git checkout main -- a.rs` brings other content, and not that from before the turn.
fn names_another_revision(command: &SimpleCommand) -> bool {
    let is_path =
        |word: &str| command.edits.paths.iter().any(|path| path.ends_with(word.trim_start_matches("./")));
    let words = command.known_arguments().skip_while(|word| !matches!(*word, "checkout" | "restore")).skip(1);
    words.take_while(|word| *word != "--").any(|word| match word.starts_with('-') {
        true => word == "-s" || word.starts_with("--source"),
        false => word != "HEAD" && word != "." && !is_path(word),
    })
}
