//! The picture of the live page, with the story of the demo on it.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use super::page;
use crate::process;

const SIZE: &str = "--window-size=1100,780";

pub(super) fn make(program: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let place = tempfile::tempdir().map_err(failed)?;
    // Below the home it is shown without the rest of its path.
    let folder = place.path().join("demo");
    process::output(Command::new(program).args(["demo", "--folder"]).arg(&folder))?;
    let mut command = Command::new(program);
    command
        .args(["serve", "--port", "0"])
        .env("HOME", &folder)
        .env("CHECKSTONE_STATE_DIR", folder.join("state"));
    let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(failed)?;
    let mut address = String::new();
    let output = server.stdout.take().ok_or("no output")?;
    let read = BufReader::new(output).read_line(&mut address).map_err(failed);
    let made = read.and_then(|_| {
        let address = address.trim().replace("/?token", "/session/1?token");
        page::picture_of(&address, place.path(), "serve", SIZE)
    });
    server.kill().and_then(|()| server.wait()).map_err(failed)?;
    made
}
