//! The pictures of a run whose second stage hangs: the terminal, from the first `run` to the end of the `resume`, and the
//! page that `report` makes of it, in a headless browser.

use std::path::Path;
use std::process::Command;

use super::{page, rows, write};
use scripted_model::Screen;

/// The second stage waits for nothing until it is interrupted; the second time it does not.
const PLAN: &str = r#"title = "houses"

[[stage]]
stageId = "S01_load_rows"
goal = "Write the table that is worked on"
command = 'sleep 1; seq 1000 > "$CHECKSTONE_ARTIFACT_DIR/rows.txt"'
outputs = { rows = "rows.txt" }

[[stage]]
stageId = "S02_fetch_prices"
goal = "Ask the server for the price of each row"
command = 'echo "asking the server"; test -e asked || { touch asked; sleep 60; }; cp "$CHECKSTONE_INPUT_ROWS" "$CHECKSTONE_ARTIFACT_DIR/prices.txt"'
inputs = { rows = "S01_load_rows/rows.txt" }
outputs = { prices = "prices.txt" }
maxDurationSec = 3

[[stage]]
stageId = "S03_add_prices"
goal = "Add all the prices up to one number"
command = 'sleep 1; awk "{ sum += \$1 } END { print sum }" "$CHECKSTONE_INPUT_PRICES" > "$CHECKSTONE_ARTIFACT_DIR/sum.txt"'
inputs = { prices = "S02_fetch_prices/prices.txt" }
outputs = { sum = "sum.txt" }
"#;

const RUN: &str = "run-20260131-090000-1a2b";

pub(super) fn make(program: &Path) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    fs_err::write(folder.path().join("plan.toml"), PLAN).map_err(|error| error.to_string())?;
    let mut shown = String::new();
    for (line, arguments) in [
        ("checkstone run plan.toml", &["run", "plan.toml", "--id", RUN][..]),
        ("checkstone resume", &["resume"]),
    ] {
        let told = told(program, folder.path(), arguments)?;
        shown.push_str(&format!("\u{1b}[1;32m$\u{1b}[0m \u{1b}[1m{line}\u{1b}[0m\n{told}\n"));
    }
    if !shown.contains("3 of 3 stages completed") {
        return Err(format!("the run did not go on to its end:\n{shown}"));
    }
    // As a terminal breaks what is too long for it.
    let mut broken = Vec::new();
    for mut row in rows(&shown) {
        while row.len() > Screen::COLUMNS {
            let rest = row.split_off(Screen::COLUMNS);
            broken.push(std::mem::replace(&mut row, rest));
        }
        broken.push(row);
    }
    write("run", "A stage hangs, and the run goes on", &broken)?;
    told(program, folder.path(), &["report"])?;
    let report = folder.path().join("reports/houses").join(RUN).join("report.html");
    page::picture(&report, folder.path(), "run-report", "--window-size=1100,900")
}

/// What stands in the terminal afterwards: progress, then the summary. A run that is interrupted does not succeed.
fn told(program: &Path, folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env("HOME", folder).env_remove("XDG_STATE_HOME");
    command.env("CHECKSTONE_STATE_DIR", folder.join("state"));
    command.env("CLICOLOR_FORCE", "1").env("COLUMNS", Screen::COLUMNS.to_string());
    let output = command.output().map_err(|error| error.to_string())?;
    let text = [output.stderr, output.stdout].concat();
    let text = String::from_utf8(text).map_err(|_| "it printed something that is no text")?;
    Ok(text.lines().map(|line| made_alike(line) + "\n").collect())
}

/// Names of checkpoints without their time and their random part.
fn made_alike(line: &str) -> String {
    let words = line.split(' ').map(|word| match word.find("ckpt-") {
        Some(_) => {
            let comma = if word.ends_with(',') { "," } else { "" };
            // The last two parts are the time and the random one.
            let name = word.rsplitn(3, '-').last().unwrap_or(word);
            format!("{name}{comma}")
        }
        None => word.to_owned(),
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_checkpoint_is_alike_in_every_picture() {
        let line = "S01  checkpoint ckpt-000001-20261115T110850Z-e021f7, 1 artifact";
        assert_eq!(made_alike(line), "S01  checkpoint ckpt-000001, 1 artifact");
        assert_eq!(
            made_alike("ckpt-emergency-000002-20261115T112052Z-082b65 of S02"),
            "ckpt-emergency-000002 of S02"
        );
        assert_eq!(made_alike("completed in 0.1 s"), "completed in 0.1 s");
    }
}
