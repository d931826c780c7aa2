//! Cursor. Its model is asked by its maker's servers alone, so that it cannot be run here.

use super::ClientForm;

pub(super) static CLIENT: ClientForm = ClientForm::BASE;
