//! The program itself, asked as the library is in the tests of `stop`: the hook, `verify`, `prove`, `status`, `statusline` and
//! `check` say what the model says of what is proven.

#[path = "../../../stop/tests/stop/ledger_model/model.rs"]
mod model;
#[path = "../../../stop/tests/stop/ledger_model/story.rs"]
mod story;

use std::path::Path;

#[test]
fn the_program_says_what_the_model_says() {
    story::play(Some(Path::new(env!("CARGO_BIN_EXE_checkstone"))), 4);
}
