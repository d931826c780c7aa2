//! How many secrets are found: made-up ones of sixty kinds in eight carriers, by us and by two scanners that people use,
//! in the same run; and how many alarms each gives over code that has none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use autosave::secrets::{Allow, scan};
use change_set::BytePath;
use keeping::{Added, AddedFile};
use sandbox::{CARRIERS, SecretSample, secret_samples};
use serde_json::Value;

use crate::steps::Done;
use crate::{npm, process, python, root};

const DETECT_SECRETS: &str = "detect-secrets==1.5.0";
const SECRETLINT: [&str; 2] = ["secretlint@11.2.5", "@secretlint/secretlint-rule-preset-recommend@11.2.5"];

/// In percent, of all samples, and of each carrier's.
const ENOUGH: usize = 95;
const ENOUGH_IN_CARRIER: usize = 80;

/// Over all three trees.
const MOST_FALSE_ALARMS: usize = 2;

/// What the scanners call a private key, or a file that is one.
const KEY_ALARMS: [&str; 4] = ["private-key", "secret-file", "Private Key", "secretlint-rule-privatekey"];

/// Larger files are data.
const LARGEST: u64 = 4 * 1024 * 1024;

/// The files in a folder, by their paths from there, in which something is found, and what.
type Alarms = BTreeMap<String, Vec<String>>;

/// Who looks, and with which program.
enum Scanner {
    Own,
    DetectSecrets(PathBuf),
    Secretlint(PathBuf),
}

impl Scanner {
    fn name(&self) -> &'static str {
        match self {
            Self::Own => "checkstone",
            Self::DetectSecrets(_) => "detect-secrets",
            Self::Secretlint(_) => "secretlint",
        }
    }

    fn scan(&self, folder: &Path) -> Result<Alarms, String> {
        match self {
            Self::Own => by_us(folder),
            Self::DetectSecrets(python) => by_detect_secrets(python, folder),
            Self::Secretlint(program) => by_secretlint(program, folder),
        }
    }
}

/// Prints the table; an error if we are not good enough.
pub(crate) fn run(seed: u64) -> Result<Done, String> {
    let scanners = scanners()?;
    let samples = secret_samples(seed);
    println!("{} samples, seed {seed}; of each cell: {}", samples.len(), names(&scanners));
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    for sample in &samples {
        fs_err::write(folder.path().join(&sample.file_name), &sample.text)
            .map_err(|error| error.to_string())?;
    }
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for scanner in &scanners {
        found.push(scanner.scan(folder.path())?.into_keys().collect());
    }
    let mut wrong = table(&samples, &found);
    let alarms = false_alarms(&scanners)?;
    if alarms > MOST_FALSE_ALARMS {
        wrong.push(format!("{alarms} false alarms"));
    }
    if wrong.is_empty() { Ok(Done::Passed) } else { Err(wrong.join("; ")) }
}

fn names(scanners: &[Scanner]) -> String {
    scanners.iter().map(Scanner::name).collect::<Vec<_>>().join(" / ")
}

/// Prints what each found, and tells what is not enough of ours, which is the first.
fn table(samples: &[SecretSample], found: &[BTreeSet<String>]) -> Vec<String> {
    let kinds: Vec<&str> =
        samples.iter().map(|sample| sample.kind).collect::<BTreeSet<_>>().into_iter().collect();
    let width = kinds.iter().map(|kind| kind.len()).max().unwrap_or_default();
    let cell = |chosen: &dyn Fn(&SecretSample) -> bool| -> (Vec<usize>, usize) {
        let chosen: Vec<&SecretSample> = samples.iter().filter(|sample| chosen(sample)).collect();
        let count =
            |found: &BTreeSet<String>| chosen.iter().filter(|one| found.contains(&one.file_name)).count();
        (found.iter().map(count).collect(), chosen.len())
    };
    let percent = |count: usize, all: usize| count * 100 / all.max(1);
    let row = |name: &str, cells: Vec<String>| {
        let cells: String = cells.iter().map(|cell| format!("  {cell:>16}")).collect();
        println!("{name:width$}{cells}");
    };
    row("", CARRIERS.iter().map(|carrier| (*carrier).to_owned()).collect());
    for kind in &kinds {
        let of = |carrier: &&str| {
            let (counts, _) = cell(&|sample| sample.kind == *kind && sample.carrier == *carrier);
            counts.iter().map(ToString::to_string).collect::<Vec<_>>().join("/")
        };
        row(kind, CARRIERS.iter().map(of).collect());
    }
    let mut wrong = Vec::new();
    let mut shares = Vec::new();
    for carrier in CARRIERS {
        let (counts, all) = cell(&|sample| sample.carrier == carrier);
        let share: Vec<usize> = counts.iter().map(|count| percent(*count, all)).collect();
        if share.first().is_none_or(|own| *own < ENOUGH_IN_CARRIER) {
            wrong.push(format!("fewer than {ENOUGH_IN_CARRIER} % in `{carrier}`"));
        }
        shares.push(share.iter().map(|share| format!("{share}%")).collect::<Vec<_>>().join("/"));
    }
    row("", shares);
    let (counts, all) = cell(&|_| true);
    println!("over all: {counts:?} of {all}");
    let own = counts.first().copied().unwrap_or_default();
    if percent(own, all) < ENOUGH {
        wrong.push(format!("fewer than {ENOUGH} % over all"));
    }
    if counts.iter().skip(1).any(|other| *other >= own) {
        wrong.push("another scanner finds as many".to_owned());
    }
    wrong
}

/// Prints the alarms over three trees of code; how many of ours are false. A private key is one, also if a test owns it.
fn false_alarms(scanners: &[Scanner]) -> Result<usize, String> {
    let place = "import sysconfig; print(sysconfig.get_path('stdlib'))";
    let library = process::output(Command::new("python3").args(["-c", place]))?;
    let trees = [
        ("Python's library", PathBuf::from(library.trim()), 1000),
        ("an npm tree", tools().join("secretlint/node_modules"), 2000),
        ("our own source", root(), 1000),
    ];
    let mut false_ones = 0;
    for (name, tree, fewest_files) in trees {
        let copy = tempfile::tempdir().map_err(|error| error.to_string())?;
        let count = copy_texts(&tree, copy.path())?;
        if count < fewest_files {
            return Err(format!("{name} has only {count} files, of {fewest_files}"));
        }
        let mut told = Vec::new();
        for (index, scanner) in scanners.iter().enumerate() {
            let (mut keys, mut others) = (0, 0);
            for (path, found) in scanner.scan(copy.path())? {
                let has_key = has_private_key(&copy.path().join(&path));
                let is_key = |alarm: &&String| has_key && KEY_ALARMS.iter().any(|kind| alarm.ends_with(kind));
                let (of_keys, of_others): (Vec<&String>, Vec<&String>) = found.iter().partition(is_key);
                keys += of_keys.len();
                others += of_others.len();
                for alarm in of_others.iter().filter(|_| index == 0) {
                    println!("  {path}: {alarm}");
                }
            }
            false_ones += if index == 0 { others } else { 0 };
            told.push(format!("{} {others} (and {keys} for private keys)", scanner.name()));
        }
        println!("alarms over {name}, {count} files: {}", told.join("; "));
    }
    Ok(false_ones)
}

fn has_private_key(path: &Path) -> bool {
    fs_err::read(path).is_ok_and(|content| {
        let text = String::from_utf8_lossy(&content);
        text.lines().any(|line| line.starts_with("-----BEGIN") && line.contains("PRIVATE KEY"))
    })
}

/// Copies what git would list of a checkout, or all that is in a folder that is none, without packages that were added.
fn copy_texts(tree: &Path, to: &Path) -> Result<usize, String> {
    let listed = match tree.join(".git").exists() {
        true => process::output(Command::new("git").arg("-C").arg(tree).args(["ls-files", "-z"]))?,
        false => {
            let mut find = Command::new("find");
            find.arg(tree).args([
                "-name",
                "site-packages",
                "-prune",
                "-o",
                "-name",
                "__pycache__",
                "-prune",
                "-o",
            ]);
            find.args(["-type", "f", "-printf", "%P\\0"]);
            process::output(&mut find)?
        }
    };
    let mut count = 0;
    for name in listed.split('\0').filter(|name| !name.is_empty()) {
        let (from, to) = (tree.join(name), to.join(name));
        if fs_err::symlink_metadata(&from).is_ok_and(|found| found.is_file() && found.len() <= LARGEST) {
            let made = to.parent().map_or(Ok(()), fs_err::create_dir_all);
            made.and_then(|()| fs_err::copy(from, to)).map_err(|error| error.to_string())?;
            count += 1;
        }
    }
    Ok(count)
}

fn tools() -> PathBuf {
    root().join("target/secret-tools")
}

/// Ours first.
fn scanners() -> Result<Vec<Scanner>, String> {
    let python = python::environment(&tools().join("detect-secrets"), DETECT_SECRETS)?;
    let secretlint = tools().join("secretlint");
    let program = secretlint.join("node_modules/.bin/secretlint");
    if !program.exists() {
        fs_err::create_dir_all(&secretlint).map_err(|error| error.to_string())?;
        npm::install(&secretlint, &SECRETLINT.map(str::to_owned))?;
    }
    Ok(vec![Scanner::Own, Scanner::DetectSecrets(python), Scanner::Secretlint(program)])
}

fn by_us(folder: &Path) -> Result<Alarms, String> {
    let listed = process::output(Command::new("find").arg(folder).args(["-type", "f", "-printf", "%P\\0"]))?;
    let mut found = Alarms::new();
    for name in listed.split('\0').filter(|name| !name.is_empty()) {
        let content = fs_err::read(folder.join(name)).map_err(|error| error.to_string())?;
        let lines = (1..=content.split(|byte| *byte == b'\n').count()).collect();
        let file = AddedFile { path: BytePath::from(name), commit: String::new(), content, lines };
        for finding in scan(&Added { files: vec![file], unread: Vec::new() }, &Allow::default()) {
            let told = format!("line {} {}", finding.line, finding.kind);
            found.entry(name.to_owned()).or_default().push(told);
        }
    }
    Ok(found)
}

fn by_detect_secrets(python: &Path, folder: &Path) -> Result<Alarms, String> {
    let mut command = Command::new(python);
    // It would ask the issuers whether a secret is one; all of them are made up.
    command.args(["-m", "detect_secrets", "scan", "--all-files", "--no-verify", "."]).current_dir(folder);
    let report: Value = serde_json::from_str(&process::output(command.stdin(Stdio::null()))?)
        .map_err(|error| error.to_string())?;
    let mut found = BTreeMap::new();
    for (path, secrets) in report.get("results").and_then(Value::as_object).into_iter().flatten() {
        let kinds =
            secrets.as_array().into_iter().flatten().filter_map(|secret| secret.get("type")?.as_str());
        found.insert(path.trim_start_matches("./").to_owned(), kinds.map(str::to_owned).collect());
    }
    Ok(found)
}

fn by_secretlint(program: &Path, folder: &Path) -> Result<Alarms, String> {
    let settings = r#"{"rules":[{"id":"@secretlint/secretlint-rule-preset-recommend"}]}"#;
    let report = tempfile::NamedTempFile::new().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["**/*", "--format", "json", "--secretlintrcJSON", settings]);
    command.arg("--output").arg(report.path()).current_dir(folder).stdin(Stdio::null());
    // It fails where it finds something.
    command.output().map_err(|error| format!("`secretlint` could not be started: {error}"))?;
    let report = fs_err::read_to_string(report.path()).map_err(|error| error.to_string())?;
    let report: Value =
        serde_json::from_str(&report).map_err(|error| format!("secretlint printed `{report}`: {error}"))?;
    let mut found = BTreeMap::new();
    for file in report.as_array().into_iter().flatten() {
        let Some(path) = file.get("filePath").and_then(Value::as_str) else { continue };
        let messages = file.get("messages").and_then(Value::as_array).into_iter().flatten();
        let kinds: Vec<String> =
            messages.filter_map(|one| one.get("ruleId")?.as_str().map(str::to_owned)).collect();
        if let Ok(path) = Path::new(path).strip_prefix(folder)
            && !kinds.is_empty()
        {
            found.insert(path.to_string_lossy().into_owned(), kinds);
        }
    }
    Ok(found)
}
