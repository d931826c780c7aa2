//! The commands of the journal as others may read them: in the log and the summary of a job, in an attestation. Whatever leaves the
//! machine takes them from here.

use std::collections::BTreeMap;
use std::path::Path;

use autosave::Look;
use gate::policy::Autosave;

use crate::environment;

#[derive(Debug)]
pub(crate) struct PublicCommands<'a> {
    look: Look,
    root: &'a Path,
    /// One run proves many files.
    known: BTreeMap<String, String>,
}

impl<'a> PublicCommands<'a> {
    /// Of a repository.
    pub(crate) fn of(root: &'a Path) -> Self {
        let look = Look::new(&Autosave::default(), None).with_home(environment::home().as_deref());
        Self { look, root, known: BTreeMap::new() }
    }

    /// The command without secrets, and without folders of the user's.
    pub(crate) fn command(&mut self, command: &str) -> String {
        let known = self.known.entry(command.to_owned());
        known.or_insert_with(|| self.look.public_command(command, self.root)).clone()
    }
}
