//! What changed, as the rules ask for it: each file with what the policy makes of it.

use change_set::{Change, Scope};
use programs::Deed;
use programs::repository::{Language, Repository};

use crate::inputs::{Changes, Inputs};
use crate::policy::{Class, Policy, is_source, needs_no_proof};
use crate::verdict::ChangedCategory;
use crate::work::Work;

/// A changed file, relative to the root of the repository.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Changed {
    pub(crate) path: String,
    /// The path with the ending that the first line of the file stands for, if its name has none.
    pub(crate) code_path: String,
    pub(crate) class: Class,
    /// Whether a run could say something about what changed in it.
    pub(crate) needs_proof: bool,
    /// Nanoseconds since 1970.
    pub(crate) modified_ns: Option<i64>,
    /// There is no such file any more.
    is_gone: bool,
}

impl Changed {
    /// `ending` is that of the language in which a script without an ending is written.
    pub(crate) fn new(policy: &Policy, path: String, ending: Option<&str>, modified_ns: Option<i64>) -> Self {
        let code_path = ending.map_or_else(|| path.clone(), |ending| format!("{path}.{ending}"));
        let class = match policy.classify(&path) {
            Class::OtherFile => policy.classify(&code_path),
            class => class,
        };
        Self { class, needs_proof: !needs_no_proof(&path), path, code_path, modified_ns, is_gone: false }
    }

    /// Whether a run could judge it.
    pub(crate) fn is_code(&self) -> bool {
        self.needs_proof && self.class != Class::Prose && is_source(&self.code_path)
    }
}

/// How source code that no category names is called.
pub(crate) const OTHER_CODE: &str = "other code";

pub(crate) fn files(policy: &Policy, inputs: &Inputs, work: &Work<'_>) -> Vec<Changed> {
    let changed = |path: String, modified_ns, is_gone| {
        let ending = inputs.script_endings.get(&path).filter(|_| !policy.gate.turn_only);
        Changed { is_gone, ..Changed::new(policy, path, ending.map(String::as_str), modified_ns) }
    };
    let mut files: Vec<Changed> = match &inputs.changes {
        Changes::Known(set) => {
            let files = set.files.iter();
            let gone = |change: &Change| *change == Change::Deleted;
            files.map(|file| changed(file.path.to_string(), file.modified_ns, gone(&file.change))).collect()
        }
        Changes::Transcript(paths) => {
            let paths = paths.iter().map(|path| work.paths().one(path));
            paths
                .map(|path| (work.is_gone(&path), path))
                .map(|(gone, path)| changed(path, None, gone))
                .collect()
        }
        Changes::Unknown(_) => Vec::new(),
    };
    leave_virtual_environments(&mut files);
    leave_categories_that_stand_alone(policy, &mut files);
    leave_unproven(&mut files, work);
    files
}

/// Files of which only comments, layout or a version number changed, or that are back to what they were, need no proof; nor
/// do those that set up a tool, and those whose removal no test could notice.
fn leave_unproven(files: &mut [Changed], work: &Work<'_>) {
    let untouched = work.files_without_need();
    let nothing_known = Repository::default();
    let repository = work.repository().unwrap_or(&nothing_known);
    for file in files.iter_mut() {
        let is_untouched = untouched.contains(file.path.as_str());
        let is_unnoticed = file.is_gone && !is_missed(&file.code_path, repository);
        if is_untouched || is_unnoticed || repository.is_of_tool(&file.code_path) {
            file.needs_proof = false;
        }
    }
}

/// Whether tests could notice that a file is gone: its package has some of its language. Where the package is not known,
/// that is assumed, unless it was a script.
fn is_missed(path: &str, repository: &Repository) -> bool {
    if Language::Shell.writes(path) {
        return false;
    }
    let Some(package) = repository.package_of(path) else { return true };
    let languages = package.languages_of(path);
    !languages.is_empty()
        && package.ways.iter().any(|way| way.deed == Deed::Tests && way.verifies(&languages))
}

/// A virtual environment of any name is no code of the repository (L13).
fn leave_virtual_environments(files: &mut [Changed]) {
    let marked = files.iter().filter_map(|file| file.path.strip_suffix("/pyvenv.cfg"));
    let environments: Vec<String> = marked.map(|folder| format!("{folder}/")).collect();
    for file in files.iter_mut() {
        if environments.iter().any(|folder| file.path.starts_with(folder.as_str())) {
            file.needs_proof = false;
        }
    }
}

/// A category such as “tests only” counts where no other source changed; its files are other code where some did.
fn leave_categories_that_stand_alone(policy: &Policy, files: &mut [Changed]) {
    for (index, _) in policy.categories.iter().enumerate().filter(|(_, category)| category.alone) {
        let is_in = |file: &Changed| matches!(&file.class, Class::Categories(all) if all.contains(&index));
        let is_other =
            |file: &Changed| !is_in(file) && file.class != Class::Prose && is_source(&file.code_path);
        let others = files.iter().any(is_other);
        if !others {
            continue;
        }
        for file in files.iter_mut() {
            if let Class::Categories(all) = &mut file.class {
                all.retain(|place| *place != index);
                if all.is_empty() {
                    file.class = Class::OtherCode;
                }
            }
        }
    }
}

pub(crate) fn scope(changes: &Changes) -> Option<Scope> {
    match changes {
        Changes::Known(set) => Some(set.scope),
        Changes::Transcript(_) => Some(Scope::Transcript),
        Changes::Unknown(_) => None,
    }
}

pub(crate) fn by_category(policy: &Policy, changed: &[Changed]) -> Vec<ChangedCategory> {
    let mut groups: Vec<ChangedCategory> = Vec::new();
    let mut add = |category: &str, path: &str| match groups
        .iter_mut()
        .find(|group| group.category == category)
    {
        Some(group) => group.files.push(path.to_owned()),
        None => groups.push(ChangedCategory { category: category.to_owned(), files: vec![path.to_owned()] }),
    };
    for file in changed {
        match &file.class {
            Class::Categories(indices) => {
                for category in indices.iter().filter_map(|index| policy.categories.get(*index)) {
                    add(&category.name, &file.path);
                }
            }
            Class::Prose => add("prose", &file.path),
            Class::OtherCode => add(OTHER_CODE, &file.path),
            Class::OtherFile => add("other files", &file.path),
        }
    }
    groups
}
