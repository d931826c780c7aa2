//! VS Code. Its agent is an editor's, whose model is asked by its maker's servers, so that it cannot be run here.

use super::ClientForm;

pub(super) static CLIENT: ClientForm = ClientForm::BASE;
