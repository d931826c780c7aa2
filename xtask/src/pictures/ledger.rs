//! The picture of the ledger: the first scene of `checkstone demo`, in which a hold is ignored, what was left is unproven for
//! whoever asks, and a run proves it.

use std::path::Path;
use std::process::Command;

use scripted_model::Screen;

use super::{rows, write};
use crate::process;

pub(super) fn make(program: &Path) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.arg("demo").arg("--folder").arg(folder.path().join("demo"));
    command.env("CLICOLOR_FORCE", "1").env("COLUMNS", Screen::COLUMNS.to_string());
    let told = process::output(&mut command)?;
    let scene =
        told.lines().skip_while(|line| !line.contains("1. ")).take_while(|line| !line.contains("2. The"));
    let scene: String = scene.map(|line| made_alike(line) + "\n").collect();
    let typed = "\u{1b}[1;32m$\u{1b}[0m \u{1b}[1mcheckstone demo\u{1b}[0m\n\n";
    write(
        "ledger",
        "A hold is ignored, and what it left is unproven until a run proves it",
        &rows(&format!("{typed}{scene}")),
    )
}

/// Without the time of the stop.
fn made_alike(line: &str) -> String {
    match line.split_once("since ").and_then(|(before, rest)| Some((before, rest.split_once(',')?.1))) {
        Some((before, after)) => format!("{before}since 2026-01-31T09:00:00Z,{after}"),
        None => line.to_owned(),
    }
}
