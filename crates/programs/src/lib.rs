//! What commands mean. [`shell`] goes from a command line to the programs that it would run, in their order,
//! and to what the exit status of the whole says about each; [`runner_summary`] reads what test runners print
//! at their end, [`own_words`] what builders and installers print. Reads text and runs nothing; knows nothing of
//! policies, transcripts or git.

pub mod layout;
pub mod own_words;
pub mod runner_summary;
pub mod shell;
