//! Who carries out the work of a stage.

/// Whether stages of kind `python` can be run.
pub(crate) const HAS_PYTHON: bool = false;
