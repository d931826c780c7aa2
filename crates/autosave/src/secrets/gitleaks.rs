//! An installed `gitleaks` as a second pair of eyes: it gets the same new content, in files of its own, and its
//! findings are kept where they lie on new lines. It is asked to leave the secrets out of its report.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use files::{BoundedChild, Bounds, ChildError};
use keeping::{Added, AddedFile};
use serde::Deserialize;

use super::{Allow, Finding, is_allowed};

#[derive(Debug, thiserror::Error)]
pub enum GitleaksError {
    #[error("cannot prepare the files for gitleaks in `{folder}`: {source}", folder = .folder.display())]
    Prepare { folder: PathBuf, source: io::Error },
    #[error("cannot run `{program}`: {source}")]
    Run { program: String, source: io::Error },
    #[error("`{program}` failed: {status}")]
    Failed { program: String, status: String },
    #[error("`{program}` did not end by itself: {source}")]
    Ended { program: String, source: ChildError },
    #[error("cannot understand the report of gitleaks: {source}")]
    Report { source: serde_json::Error },
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Leak {
    #[serde(rename = "RuleID")]
    rule: String,
    file: String,
    start_line: usize,
}

/// Runs gitleaks over the new content. `folder` is where it may be put for a moment; nobody else can read it there.
pub fn by_gitleaks(
    program: &OsStr,
    added: &Added,
    allow: &Allow,
    folder: &Path,
    limit: Duration,
) -> Result<Vec<Finding>, GitleaksError> {
    let unprepared = |source| GitleaksError::Prepare { folder: folder.to_owned(), source };
    let place = tempfile::Builder::new().prefix("gitleaks-").tempdir_in(folder).map_err(unprepared)?;
    let files = lay_out(added, &place.path().join("files")).map_err(unprepared)?;
    let report = place.path().join("report.json");
    run(program, place.path(), &report, limit)?;
    let report = fs_err::read(&report).map_err(unprepared)?;
    let leaks: Vec<Leak> = match report.trim_ascii() {
        b"" | b"null" => Vec::new(),
        report => serde_json::from_slice(report).map_err(|source| GitleaksError::Report { source })?,
    };
    let mut findings = Vec::new();
    for leak in leaks {
        let name = Path::new(&leak.file).file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some(file) = files.get(name) else { continue };
        if let Some(finding) = finding(file, &leak)
            && !allow.has(&finding)
        {
            findings.push(finding);
        }
    }
    findings.sort();
    findings.dedup();
    Ok(findings)
}

fn finding(file: &AddedFile, leak: &Leak) -> Option<Finding> {
    file.lines.binary_search(&leak.start_line).ok()?;
    let mut lines = file.content.split(|byte| *byte == b'\n');
    let line = lines.nth(leak.start_line.checked_sub(1)?)?;
    // The report hides the secret; the line tells one finding of a kind from another well enough.
    (!is_allowed(line)).then(|| Finding::new(&file.path, leak.start_line, &leak.rule, line))
}

/// One file for each, by number: names of the repository lead nowhere. The ending is kept, some rules ask for it.
fn lay_out<'a>(added: &'a Added, folder: &Path) -> io::Result<BTreeMap<String, &'a AddedFile>> {
    fs_err::create_dir_all(folder)?;
    let mut files = BTreeMap::new();
    for (number, file) in added.files.iter().enumerate() {
        let ending = file.path.as_path().extension().and_then(|ending| ending.to_str()).unwrap_or("txt");
        let name = format!("{number}.{ending}");
        fs_err::write(folder.join(&name), &file.content)?;
        files.insert(name, file);
    }
    Ok(files)
}

fn run(program: &OsStr, place: &Path, report: &Path, limit: Duration) -> Result<(), GitleaksError> {
    let name = program.to_string_lossy().into_owned();
    let mut command = Command::new(program);
    command.args(["detect", "--no-git", "--no-banner", "--redact", "--exit-code=0"]);
    command.args(["--report-format=json", "--source"]).arg(place.join("files"));
    command.arg("--report-path").arg(report);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let cannot = |source| GitleaksError::Run { program: name.clone(), source };
    let child = BoundedChild::start(&mut command, Bounds::within(limit)).map_err(cannot)?;
    let ended = child.finish().map_err(|source| GitleaksError::Ended { program: name.clone(), source })?;
    if ended.status.success() {
        return Ok(());
    }
    Err(GitleaksError::Failed { program: name, status: ended.status.to_string() })
}
