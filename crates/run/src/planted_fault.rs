//! One fault, planted on purpose in what decides whether a stage is run again, so that tests can show that they would find it. Only
//! builds for tests have the feature `planted-faults`; in all others nothing is overlooked.

text::named! {
    /// What can be overlooked besides the parts of a fingerprint, which are listed by the type that they are fields of.
    pub enum Oversight {
        /// Whether an input of the project can be executed.
        ExecutableBit = "executable bit of an input",
        EmptyFolders = "empty folders of an input",
        /// What the files in a folder are called.
        NamesInFolder = "names in a folder",
        /// What the instances were run for whose outputs are gathered.
        GatheredParameters = "parameters of gathered outputs",
        /// Whether what a stage published is still there as it was.
        PublishedOutputs = "published outputs",
        /// What changes under a stage while it runs.
        ChangesMeanwhile = "changes while a stage runs",
        /// Whether what was saved half-way was saved by a stage that did the same.
        SavedHalfWay = "fingerprint of what was saved half-way",
        /// That another attempt may have left something else in the session, or beside its outputs.
        Attempt = "attempt before",
        /// What an attempt that failed did to the session.
        FailedAttempt = "session after a failed attempt",
        /// Whether a checkpoint holds the session that a cell comes after.
        CheckpointOfSession = "session of a checkpoint",
        /// That cells of earlier runs are of use only together.
        SessionOfEarlierRun = "session of an earlier run",
    }
}

#[cfg(all(feature = "planted-faults", not(debug_assertions)))]
compile_error!("`planted-faults` is for builds of tests; a program that is handed out overlooks nothing");

#[cfg(not(feature = "planted-faults"))]
pub(crate) const fn overlooks(_: Oversight) -> bool {
    false
}

#[cfg(feature = "planted-faults")]
pub use planting::{all, plant};
#[cfg(feature = "planted-faults")]
pub(crate) use planting::{overlooks, part_left_out};

#[cfg(feature = "planted-faults")]
mod planting {
    use std::sync::OnceLock;

    use super::Oversight;
    use crate::fingerprint;

    static PLANTED: OnceLock<String> = OnceLock::new();

    /// The names of all faults that can be planted.
    pub fn all() -> Vec<String> {
        let others = Oversight::ALL.iter().map(|oversight| oversight.name().to_owned());
        fingerprint::part_names().into_iter().chain(others).collect()
    }

    /// For the rest of this process; whether there is a fault of that name.
    pub fn plant(name: &str) -> bool {
        all().iter().any(|known| known == name) && PLANTED.set(name.to_owned()).is_ok()
    }

    pub(crate) fn overlooks(oversight: Oversight) -> bool {
        PLANTED.get().is_some_and(|planted| planted == oversight.name())
    }

    /// If it is none, an oversight may be planted.
    pub(crate) fn part_left_out() -> Option<&'static str> {
        PLANTED.get().map(String::as_str)
    }
}
