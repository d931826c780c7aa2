//! The look for secrets before anything leaves: our own table, an installed `gitleaks`, and what the settings allow.

use std::path::{Path, PathBuf};
use std::time::Duration;

use change_set::BytePath;
use gate::policy::Autosave;
use keeping::{Added, AddedFile};

use crate::private_place::without_private_places;
use crate::secrets::{self, Allow, Finding};

/// Stands for a text with a secret in it: notes are committed and pushed.
pub const WITHHELD: &str = "(withheld: it looks like a secret)";

const GITLEAKS_LIMIT: Duration = Duration::from_secs(20);

/// A `gitleaks` of the user's.
#[derive(Clone, Debug)]
pub struct Gitleaks {
    pub program: PathBuf,
    /// Where the new lines may be put for it for a moment.
    pub folder: PathBuf,
}

/// Who looks, and what is allowed.
#[derive(Clone, Debug)]
pub struct Look {
    allow: Allow,
    gitleaks: Option<Gitleaks>,
    /// Of the user, which texts that leave the machine do not name.
    pub(crate) home: Option<String>,
}

impl Look {
    pub fn new(settings: &Autosave, gitleaks: Option<Gitleaks>) -> Self {
        let (fingerprints, kinds): (Vec<String>, Vec<String>) =
            settings.allow_secrets.iter().cloned().partition(|word| word.contains(':'));
        // A pattern that is none was told when the settings were read, and allows nothing.
        let allow = Allow::new(&settings.allow_secrets_in, &kinds, &fingerprints).unwrap_or_default();
        Self { allow, gitleaks, home: None }
    }

    /// The same, where it is known which folder is the user's home.
    pub fn with_home(self, home: Option<&Path>) -> Self {
        Self { home: home.map(|home| home.to_string_lossy().into_owned()), ..self }
    }

    /// What looks like a secret, each by file, line, kind and fingerprint; never itself.
    pub fn through(&self, added: &Added) -> Vec<Finding> {
        let mut found = secrets::scan(added, &self.allow);
        // A gitleaks that does not run finds nothing; our own table has looked all the same.
        if let Some(Gitleaks { program, folder }) = &self.gitleaks
            && let Ok(more) =
                secrets::by_gitleaks(program.as_os_str(), added, &self.allow, folder, GITLEAKS_LIMIT)
        {
            let is_new = |finding: &Finding| {
                !found.iter().any(|known| (&known.path, known.line) == (&finding.path, finding.line))
            };
            let more: Vec<Finding> = more.into_iter().filter(is_new).collect();
            found.extend(more);
        }
        found
    }

    /// Whether something in the text looks like a secret.
    pub fn sees_secret(&self, text: &str) -> bool {
        !self.lines_with_secrets(text, "").is_empty()
    }

    /// A text of somebody's that is told elsewhere, without what stands where secrets stand; `None` if something in it
    /// looks like one.
    pub fn tellable(&self, text: &str) -> Option<String> {
        (!self.sees_secret(text)).then(|| secrets::without_values(text))
    }

    /// The same without folders of the user's, for a text that leaves the machine.
    pub fn public(&self, text: &str, root: &Path) -> Option<String> {
        let told = self.tellable(text)?;
        Some(without_private_places(&told, &root.to_string_lossy(), self.home.as_deref()))
    }

    /// A command that leaves the machine, however it does: without the values that are or may be secrets, and without folders
    /// of the user's. The rest of it stays, so that the run can be recognised.
    pub fn public_command(&self, command: &str, root: &Path) -> String {
        if command == WITHHELD {
            return command.to_owned();
        }
        // Folders first: the name of a temporary one looks random.
        let told = without_private_places(command, &root.to_string_lossy(), self.home.as_deref());
        let told = secrets::command_without_values(&told);
        // In pieces, or in another form.
        if self.sees_secret(&told) { WITHHELD.to_owned() } else { told }
    }

    /// A text of our own without the lines that look like a secret: a prompt or a command may say one.
    pub(crate) fn without_secrets(&self, text: &str, path: &str) -> String {
        let found = self.lines_with_secrets(text, path);
        let kept = text.lines().enumerate().map(|(index, line)| match found.contains(&(index + 1)) {
            true => "- A line was left out here: it looks like a secret.",
            false => line,
        });
        kept.map(|line| format!("{line}\n")).collect()
    }

    fn lines_with_secrets(&self, text: &str, path: &str) -> Vec<usize> {
        let file = AddedFile {
            path: BytePath::from(path),
            commit: String::new(),
            content: text.as_bytes().to_vec(),
            lines: (1..=text.lines().count()).collect(),
        };
        let added = Added { files: vec![file], unread: Vec::new() };
        secrets::scan(&added, &self.allow).iter().map(|finding| finding.line).collect()
    }
}
