//! The fourth boundary: a stage of a long run hangs, and later the whole run is killed. It is interrupted, checkpointed,
//! and gone on with, to the same result as if nothing had happened.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::error::CommandError;

use super::scratch::DemoFolder;
use super::{Stage, differs, expect};

const PLAN: &str = r#"title = "demo"

[[stage]]
stageId = "S01_list_numbers"
goal = "List the numbers that are added up"
command = 'seq 1 1000 > "$CHECKSTONE_ARTIFACT_DIR/numbers.txt"'
outputs = { numbers = "numbers.txt" }

# Hangs when it is first run, as a download does whose server has gone.
[[stage]]
stageId = "S02_square_numbers"
goal = "Square the numbers, unless the stage hangs"
command = '''
if mkdir "$DEMO_FOLDER/was-here" 2> /dev/null; then echo "[STAGE:progress:pct=5:msg=waiting for the server]"; sleep 600; fi
awk '{ print $1 * $1 }' "$CHECKSTONE_INPUT_NUMBERS" > "$CHECKSTONE_ARTIFACT_DIR/squares.txt"
'''
inputs = { numbers = "S01_list_numbers/numbers.txt" }
outputs = { squares = "squares.txt" }
maxDurationSec = 1

# Takes a second, so that there is time to be killed in.
[[stage]]
stageId = "S03_add_squares"
goal = "Add up the squares, slowly"
command = '''
sleep 1
awk '{ sum += $1 } END { print sum }' "$CHECKSTONE_INPUT_SQUARES" > "$CHECKSTONE_ARTIFACT_DIR/sum.txt"
'''
inputs = { squares = "S02_square_numbers/squares.txt" }
outputs = { sum = "sum.txt" }
"#;

/// The sum of the squares from 1 to 1000.
const RESULT: &str = "333833500";

const KILL_LIMIT: Duration = Duration::from_secs(15);

pub(super) fn play(scratch: &DemoFolder, stage: &Stage<'_>) -> Result<(), CommandError> {
    stage.scene(4, "A stage of a long run hangs");
    let plan = PLAN.replace("$DEMO_FOLDER", &scratch.folder().join("home").to_string_lossy());
    scratch.write("repository/plan.toml", &plan)?;
    stage.tell("Three stages; the second hangs, and its limit is one second. `checkstone run plan.toml`:");
    let ran = scratch.checkstone(&["run", "plan.toml"], "")?;
    stage.quote(ran.stdout.trim_end());
    let (run, events) = newest_run(scratch)?;
    let is_interrupted = ran.code != Some(0) && events.contains("\"INTERRUPTED\"");
    expect(is_interrupted, "the stage that hangs was not interrupted", &ran.stderr)?;
    let checkpoints = scratch.checkstone(&["checkpoint", "list", "--json"], "")?.stdout;
    expect(checkpoints.contains("ckpt-emergency-"), "there is no emergency checkpoint", &checkpoints)?;
    stage.check("interrupted at its limit; its work so far is in an emergency checkpoint");

    stage.tell("`checkstone resume` continues, and is killed with SIGKILL while the third stage runs:");
    let mut resumed = scratch
        .own_command(&["resume", &run])?
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let deadline = Instant::now() + KILL_LIMIT;
    let is_third = |events: &str| {
        events.lines().any(|line| line.contains("S03_add_squares") && line.contains("\"to\":\"RUNNING\""))
    };
    while !is_third(&newest_run(scratch)?.1) {
        let ended = resumed.try_wait()?;
        if Instant::now() > deadline || ended.is_some() {
            let _ = resumed.kill();
            return Err(differs("the third stage never began", &newest_run(scratch)?.1));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    resumed.kill().and_then(|()| resumed.wait())?;
    stage.check("killed; the stage died with it");

    stage.tell("`checkstone resume` again:");
    let again = scratch.checkstone(&["resume"], "")?;
    stage.quote(again.stdout.trim_end());
    let sum = scratch.read(&format!("repository/reports/demo/{run}/S03_add_squares/sum.txt"))?;
    let is_right = again.code == Some(0) && sum.trim() == RESULT;
    expect(is_right, "the run has no result", &format!("{sum}{}", again.stderr))?;
    stage.check(&format!(
        "the sum is {RESULT}, as without the interruptions; completed stages were not run again"
    ));
    let reported = scratch.checkstone(&["report", &run], "")?;
    expect(reported.code == Some(0), "`checkstone report`", reported.stderr.trim())?;
    stage.check(&format!("drawn in `reports/demo/{run}/report.html`"));
    Ok(())
}

/// The only run there is, and its events.
fn newest_run(scratch: &DemoFolder) -> Result<(String, String), CommandError> {
    let folder = scratch.repository().join("reports/demo/checkpoints");
    let entries = fs_err::read_dir(&folder)?;
    let mut names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let run = names
        .find(|name| !name.starts_with('.'))
        .ok_or_else(|| differs("there is no run", &folder.to_string_lossy()))?;
    let events = scratch.read(&format!("repository/reports/demo/checkpoints/{run}/events.jsonl"))?;
    Ok((run, events))
}
