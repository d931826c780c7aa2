//! What the output of a call says about how its runs ended.

use outputs::{Shown, Summary};

use crate::inputs::RecordedCall;

/// What a call printed, as far as it says how runs ended.
pub(crate) struct Printed {
    pub(crate) summary: Option<Summary>,
    /// Lines that only something broken prints.
    pub(crate) has_errors: bool,
    /// A program could not be started, or did not understand its command line.
    pub(crate) not_started: bool,
}

impl Printed {
    pub(crate) fn of(recorded: &RecordedCall) -> Self {
        match &recorded.call.shown {
            Some(shown) => Self::in_output(shown),
            None => {
                let mut scan = outputs::Scan::new();
                scan.feed(recorded.call.snippet.as_deref().unwrap_or_default());
                Self::in_output(&scan.finish())
            }
        }
    }

    fn in_output(shown: &Shown) -> Self {
        Self {
            summary: shown.summary(),
            has_errors: !shown.errors.is_empty(),
            not_started: !shown.not_started.is_empty(),
        }
    }

    /// A program could not be started or understood none of its words, and nothing ran in its place.
    pub(crate) fn did_not_start(&self) -> bool {
        self.not_started && self.summary.is_none()
    }

    /// Whether it tells of failures or errors.
    pub(crate) fn is_red(&self) -> bool {
        self.has_errors || matches!(self.summary, Some(Summary::Failed { .. }))
    }
}
