//! What is proven, in a few lines: the definition of docs/gate.md without git, transcripts or a journal.

use std::collections::{BTreeMap, BTreeSet};

/// Two packages, each with tests of its own; in the first one, a folder has tests of its own again.
pub(crate) const FILES: [&str; 3] = ["api/one.py", "api/inner/two.py", "web/three.py"];

/// Of each file a number that stands for its content.
pub(crate) type Contents = [usize; FILES.len()];

/// A file and its content.
pub(crate) type Version = (usize, usize);

/// What a run of the tests is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tested {
    All,
    Api,
    /// A folder of a package.
    ApiInner,
    Web,
}

impl Tested {
    pub(crate) const ANY: [Self; 4] = [Self::All, Self::Api, Self::ApiInner, Self::Web];
    const PACKAGES: [Self; 2] = [Self::Api, Self::Web];

    /// From the root.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Api => "api",
            Self::ApiInner => "api/inner",
            Self::Web => "web",
        }
    }

    fn has(self, file: usize) -> bool {
        FILES[file].starts_with(self.folder())
    }

    fn includes(self, other: Self) -> bool {
        other.folder().starts_with(self.folder())
    }

    /// Whether what failed says something against the file: it may be used by what was tested.
    fn is_about(self, file: usize) -> bool {
        match self {
            Self::ApiInner => Self::Api.has(file),
            _ => self.has(file),
        }
    }
}

/// A run of the tests that an agent started.
#[derive(Clone, Copy, Debug)]
struct Run {
    at: usize,
    tested: Tested,
    is_green: bool,
    /// The agent had stashed its changes away.
    is_away: bool,
}

#[derive(Clone, Copy, Debug)]
struct Edit {
    file: usize,
    at: usize,
    from: usize,
    to: usize,
    /// The client recorded the whole texts, so that it is known what the file held before and after.
    is_whole: bool,
    is_taken_back: bool,
}

/// The turns of a session that are judged together.
#[derive(Clone, Debug)]
pub(crate) struct Span {
    began_with: Contents,
    /// What was committed then.
    began_at: Contents,
    edits: Vec<Edit>,
    runs: Vec<Run>,
    /// When commands changed files that they do not name.
    moves: Vec<usize>,
    /// A command may have written anything; an edit names its file.
    has_commands: bool,
    is_away: bool,
    pub(crate) is_judged: bool,
    /// The agent has not stopped.
    pub(crate) is_open: bool,
    pub(crate) was_held: bool,
}

impl Span {
    pub(crate) fn new(began_with: Contents, began_at: Contents) -> Self {
        Self {
            began_with,
            began_at,
            edits: Vec::new(),
            runs: Vec::new(),
            moves: Vec::new(),
            has_commands: false,
            is_away: false,
            is_judged: false,
            is_open: true,
            was_held: false,
        }
    }

    pub(crate) fn edit(&mut self, file: usize, at: usize, (from, to): (usize, usize), is_whole: bool) {
        self.is_away = false;
        let open = |edit: &&mut Edit| edit.file == file && !edit.is_taken_back;
        let mut open: Vec<&mut Edit> = self.edits.iter_mut().filter(open).collect();
        // The whole text may be that of any time before; of a part only the last edit is known to be taken back.
        let undone = match is_whole {
            true => open.iter().position(|edit| edit.from == to),
            false => open.iter().rposition(|edit| (edit.from, edit.to) == (to, from)),
        };
        let undone = undone.filter(|place| is_whole || place + 1 == open.len());
        for edit in open.iter_mut().skip(undone.unwrap_or(usize::MAX)) {
            edit.is_taken_back = true;
        }
        self.edits.push(Edit { file, at, from, to, is_whole, is_taken_back: undone.is_some() });
    }

    /// `git checkout -- FILE`
    pub(crate) fn check_out(&mut self, file: usize, at: usize) {
        self.has_commands = true;
        for edit in self.edits.iter_mut().filter(|edit| edit.file == file) {
            edit.is_taken_back = true;
        }
        self.edits.push(Edit { file, at, from: 0, to: 0, is_whole: false, is_taken_back: true });
    }

    pub(crate) fn run(&mut self, tested: Tested, at: usize, is_green: bool) {
        self.has_commands = true;
        self.runs.push(Run { at, tested, is_green, is_away: self.is_away });
    }

    /// Any other command; of `git stash` and `git stash pop` it is known what they do.
    pub(crate) fn command(&mut self, is_away: Option<bool>) {
        self.has_commands = true;
        self.is_away = is_away.unwrap_or(self.is_away);
    }

    /// A command that changed files which it does not name.
    pub(crate) fn moved(&mut self, at: usize) {
        self.moves.push(at);
    }

    /// Whether a run saw this content: the last edit before it left it, and nothing is known to have changed it until then.
    fn has_seen(&self, (file, content): Version, at: usize) -> bool {
        let before = |edit: &&Edit| edit.file == file && edit.at < at;
        self.edits.iter().rfind(before).is_some_and(|last| {
            let is_moved = self.moves.iter().any(|moved| last.at < *moved && *moved < at);
            last.is_whole && last.to == content && !is_moved
        })
    }

    fn may_have_written(&self, file: usize) -> bool {
        self.has_commands || self.edits.iter().any(|edit| edit.file == file)
    }

    fn is_taken_back(&self, file: usize) -> bool {
        let mut edits = self.edits.iter().filter(|edit| edit.file == file).peekable();
        edits.peek().is_some() && edits.all(|edit| edit.is_taken_back)
    }

    fn is_edited_after(&self, file: usize, at: usize) -> bool {
        self.edits.iter().any(|edit| edit.file == file && edit.at > at && !edit.is_taken_back)
    }

    /// What fails without the change as well says nothing against it.
    fn is_red(&self, run: &Run) -> bool {
        let failed_before = |other: &Run| other.is_away && !other.is_green && other.tested == run.tested;
        !run.is_green && !run.is_away && !self.runs.iter().any(failed_before)
    }

    /// The red runs that no later green one of as much settles.
    fn unsettled(&self) -> impl Iterator<Item = &Run> {
        let settles = |later: &Run, red: &Run| {
            later.at > red.at && !later.is_away && !self.is_red(later) && later.tested.includes(red.tested)
        };
        self.runs
            .iter()
            .filter(move |run| self.is_red(run) && !self.runs.iter().any(|later| settles(later, run)))
    }
}

/// A working tree.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) disk: Contents,
    /// When each file was written.
    pub(crate) written: Contents,
    pub(crate) branch: &'static str,
}

/// What a stop says, and how the contents stand after it.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    pub(crate) proven: BTreeSet<Version>,
    pub(crate) unproven: BTreeSet<Version>,
    /// Something is missing or red.
    pub(crate) is_open: bool,
}

#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) proven: BTreeSet<Version>,
    pub(crate) unproven: BTreeSet<Version>,
    pub(crate) trees: Vec<Tree>,
    /// The commits of each branch, the last one at the end.
    pub(crate) branches: BTreeMap<&'static str, Vec<Contents>>,
    /// What was stashed, and the commit that it was put aside from.
    pub(crate) stashes: Vec<(Contents, Contents)>,
}

impl Model {
    pub(crate) fn head(&self, tree: usize) -> Contents {
        self.branches[self.trees[tree].branch].last().copied().unwrap()
    }

    /// What a stop makes of the contents that lie in the tree.
    pub(crate) fn judge(&self, tree: usize, span: &Span) -> Judgement {
        let Tree { disk, written, .. } = &self.trees[tree];
        let now: Vec<Version> = disk.iter().copied().enumerate().collect();
        let is_changed =
            |(file, content): &Version| *content != span.began_with[*file] && span.may_have_written(*file);
        let (changed, others): (Vec<Version>, Vec<Version>) = now.into_iter().partition(is_changed);
        let mut kept: Vec<Version> = others.into_iter().filter(|one| self.unproven.contains(one)).collect();
        // What was taken back to what was committed is asked of nobody; a run proves it all the same.
        let head = self.head(tree);
        let is_back = |(file, content): &Version| {
            span.is_taken_back(*file) && [head[*file], span.began_at[*file]] == [*content; 2]
        };
        let (back, changed): (Vec<Version>, Vec<Version>) = changed.into_iter().partition(is_back);
        kept.extend(&back);
        let red = |files: &[Version]| {
            let mut found = BTreeSet::new();
            for run in span.unsettled() {
                let concerned = files.iter().copied().filter(|(file, _)| run.tested.is_about(*file));
                let concerned: Vec<Version> = concerned.collect();
                if concerned.iter().all(|(file, _)| !span.is_edited_after(*file, run.at)) {
                    found.extend(concerned);
                }
            }
            found
        };
        // Some run has seen all of these.
        let is_covered = |files: &[Version], tested: &[Tested]| {
            let is_fresh = |at: usize| {
                let is_stale = |one: &Version| {
                    let is_written_after = span.is_edited_after(one.0, at) || written[one.0] > at;
                    is_written_after && !(is_changed(one) && span.has_seen(*one, at))
                };
                !files.iter().any(is_stale)
            };
            let has_all = |run: &Run| files.iter().all(|(file, _)| run.tested.has(*file));
            let counts = |run: &&Run| {
                tested.contains(&run.tested) && !run.is_away && !span.is_red(run) && has_all(run)
            };
            span.runs.iter().filter(counts).any(|run| is_fresh(run.at))
        };
        let mut judgement = Judgement::default();
        for (files, is_asked) in [(&changed, true), (&kept, false)] {
            let red = red(files);
            for package in Tested::PACKAGES {
                let mut open: Vec<Version> = files.iter().copied().filter(|one| package.has(one.0)).collect();
                open.retain(|one| !self.proven.contains(one));
                // They stand or fall together, but for what the tests of its own folder have seen.
                let is_alone = |one: &Version| is_covered(&[*one], &[Tested::ApiInner]);
                let (alone, together): (Vec<Version>, Vec<Version>) = match is_covered(&open, &Tested::ANY) {
                    true => (Vec::new(), open),
                    false => open.into_iter().partition(is_alone),
                };
                let is_proven = is_covered(&together, &Tested::ANY);
                judgement.is_open |= is_asked && !is_proven && !together.is_empty();
                judgement.proven.extend(alone.into_iter().filter(|one| !red.contains(one)));
                for one in together.into_iter().filter(|one| !red.contains(one)) {
                    if is_proven { &mut judgement.proven } else { &mut judgement.unproven }.insert(one);
                }
            }
            judgement.is_open |= is_asked && !red.is_empty();
            judgement.unproven.extend(red);
            judgement.unproven.retain(|one| !back.contains(one));
        }
        judgement
    }

    pub(crate) fn record(&mut self, judgement: &Judgement) {
        for one in &judgement.proven {
            self.unproven.remove(one);
            self.proven.insert(*one);
        }
        for one in &judgement.unproven {
            self.proven.remove(one);
            self.unproven.insert(*one);
        }
    }

    /// A person runs the tests, and they pass.
    pub(crate) fn prove(&mut self, tree: usize, tested: Tested) {
        for (file, content) in self.trees[tree].disk.into_iter().enumerate().filter(|one| tested.has(one.0)) {
            self.unproven.remove(&(file, content));
            self.proven.insert((file, content));
        }
    }

    /// The files that are unproven and lie in the tree.
    pub(crate) fn live_unproven(&self, tree: usize) -> BTreeSet<String> {
        let files = self.trees[tree].disk.into_iter().enumerate();
        names(files.filter(|one| self.unproven.contains(one)))
    }

    /// What differs and is not proven.
    fn missing(&self, old: Contents, new: Contents) -> BTreeSet<String> {
        let differs = |(file, content): &Version| old[*file] != *content;
        names(new.into_iter().enumerate().filter(differs).filter(|one| !self.proven.contains(one)))
    }

    pub(crate) fn missing_in_worktree(&self, tree: usize) -> BTreeSet<String> {
        self.missing(self.head(tree), self.trees[tree].disk)
    }

    /// What the last commit is missing; `None` if it is the first.
    pub(crate) fn missing_in_commit(&self, tree: usize) -> Option<BTreeSet<String>> {
        match self.branches[self.trees[tree].branch].as_slice() {
            [.., before, last] => Some(self.missing(*before, *last)),
            _ => None,
        }
    }

    /// What all commits of the branch are missing together.
    pub(crate) fn missing_in_branch(&self, tree: usize) -> BTreeSet<String> {
        self.missing([0; FILES.len()], self.head(tree))
    }
}

fn names(files: impl Iterator<Item = Version>) -> BTreeSet<String> {
    files.map(|(file, _)| FILES[file].to_owned()).collect()
}
