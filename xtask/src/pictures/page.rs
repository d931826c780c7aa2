//! Pictures of pages in a headless browser; that of the replay page shows the labelled turns of the gate's own tests.

use std::path::Path;
use std::process::Command;

use super::FOLDER;
use crate::process;
use crate::root;

/// As much as a person sees before scrolling.
const SIZE: &str = "--window-size=1100,1120";

/// The presets that the labelled turns are about.
const POLICY: &str = "presets = [\"rust\", \"python\", \"node\", \"go\"]\n";

pub(super) fn make(program: &Path) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    fs_err::write(folder.path().join("checkstone.toml"), POLICY).map_err(|error| error.to_string())?;
    let mut replay = Command::new(program);
    replay.arg("replay").args(["corpus", "held-out"].map(|set| root().join("crates/gate/tests").join(set)));
    replay.args(["--policy", "checkstone.toml", "--html", "page.html"]).current_dir(folder.path());
    process::output(&mut replay)?;
    picture(&folder.path().join("page.html"), folder.path(), "replay", SIZE)
}

/// What a person sees of a page, as `name` among the pictures.
pub(super) fn picture(page: &Path, folder: &Path, name: &str, size: &str) -> Result<(), String> {
    picture_of(&format!("file://{}", page.display()), folder, name, size)
}

/// The same of a page with this address.
pub(super) fn picture_of(address: &str, folder: &Path, name: &str, size: &str) -> Result<(), String> {
    let picture = root().join(FOLDER).join(format!("{name}.png"));
    let mut browser = Command::new("chromium-headless-shell");
    browser.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", size]);
    browser.arg(format!("--user-data-dir={}", folder.join("browser").display()));
    browser.arg(format!("--screenshot={}", picture.display()));
    browser.arg(address);
    process::output(&mut browser)?;
    println!("{}", picture.display());
    Ok(())
}
