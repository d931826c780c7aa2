//! What `ci` and `attest` write for other programs, read by theirs: in-toto's own library, the readers of SARIF and JUnit reports that
//! people use, and the validator of SARIF with the rules of GitHub's code scanning.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::npm;
use crate::process;
use crate::python;
use crate::root;
use crate::steps::Done;

/// From PyPI.
const READERS: &str = "in-toto-attestation==0.9.3 sarif-tools==3.0.5 junitparser==5.0.3";

/// From npm.
const VALIDATOR: &str = "@microsoft/sarif-multitool-linux";
const VALIDATOR_VERSION: &str = "5.7.0";

/// Reads the statement, the SARIF report and the JUnit report that it is given, and says what is wrong with them.
const SCRIPT: &str = "\
import sys
from google.protobuf import json_format
from in_toto_attestation.v1 import statement, statement_pb2
from junitparser import JUnitXml
from sarif import loader
parsed = json_format.Parse(open(sys.argv[1]).read(), statement_pb2.Statement())
statement.Statement.copy_from_pb(parsed).validate()
found = loader.load_sarif_file(sys.argv[2]).get_results()
assert [one['ruleId'] for one in found] == ['python-tests'], found
suites = JUnitXml.fromfile(sys.argv[3])
assert (suites.tests, suites.failures) == (1, 1), suites
";

/// A repository with one file that is not proven: its reports, and then the statement that it is.
pub(crate) fn read_by_others() -> Result<Done, String> {
    let python = python::environment(&root().join("target/tools/reports"), READERS)?;
    process::run(process::test_target("checkstone").arg("--no-run"))?;
    let program = process::built_beside_us("checkstone")?;
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let repository = place.path().join("repository");
    let write = |name: &str, text: &str| {
        let file = repository.join(name);
        fs_err::create_dir_all(file.parent().unwrap_or(&repository))
            .and_then(|()| fs_err::write(&file, text))
            .map_err(|error| error.to_string())
    };
    write("checkstone.toml", "presets = [\"python\"]\n")?;
    write("calc.py", "x = 1\n")?;
    write("tests/test_calc.py", "def test():\n    pass\n")?;
    write("pytest", "#!/bin/sh\necho '==== 1 passed in 0.01s ===='\n")?;
    let run = |words: &[&str]| {
        let [program, rest @ ..] = words else { return Err("no command".to_owned()) };
        let mut command = Command::new(program);
        command.args(rest).current_dir(&repository).env("CHECKSTONE_STATE_DIR", place.path().join("state"));
        let path = [repository.as_os_str(), &process::path()].join(std::ffi::OsStr::new(":"));
        command.env("PATH", path);
        for role in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{role}_NAME"), "A").env(format!("GIT_{role}_EMAIL"), "a@example.org");
        }
        command.output().map_err(|error| format!("`{program}` could not be started: {error}"))
    };
    let program = program.to_string_lossy();
    let ours = |words: &[&str]| run(&[&[program.as_ref()], words].concat());
    run(&["git", "init", "--quiet", "--initial-branch=main"])?;
    run(&["chmod", "755", "pytest"])?;
    run(&["git", "add", "--all"])?;
    run(&["git", "commit", "--quiet", "--message", "one"])?;
    run(&["git", "switch", "--quiet", "--create", "fix"])?;
    write("calc.py", "x = 2\n")?;
    run(&["git", "commit", "--quiet", "--all", "--message", "two"])?;
    ours(&["ci", "--base", "main", "--sarif", "report.sarif", "--junit", "report.xml"])?;
    ours(&["prove", "--", "pytest"])?;
    ours(&["attest", "--base", "main"])?;
    let note = run(&["git", "notes", "--ref=checkstone", "show", "HEAD"])?;
    fs_err::write(repository.join("statement.json"), note.stdout).map_err(|error| error.to_string())?;
    let file = |name: &str| repository.join(name);
    read(&python, &[&file("statement.json"), &file("report.sarif"), &file("report.xml")])?;
    validate(&file("report.sarif"))
}

/// By the schema, by the rules of the format, and by those that code scanning adds. Warnings are advice.
fn validate(report: &Path) -> Result<Done, String> {
    let folder = root().join("target/tools/sarif-multitool");
    let program = folder.join("node_modules").join(VALIDATOR).join("Sarif.Multitool");
    if !program.exists() {
        npm::install(&folder, &[format!("{VALIDATOR}@{VALIDATOR_VERSION}")])?;
    }
    // Its own script would do that.
    fs_err::set_permissions(&program, Permissions::from_mode(0o755)).map_err(|error| error.to_string())?;
    let mut validate = Command::new(&program);
    let said = process::output(validate.args(["validate", "--rule-kind", "Sarif;Ghas"]).arg(report))?;
    let errors: Vec<&str> = said.lines().filter(|line| line.contains(": error ")).collect();
    let is_whole = said.contains("1 files scanned");
    match errors.as_slice() {
        [] if is_whole => Ok(Done::Passed),
        [] => Err(format!("the validator did not read the report: {said}")),
        errors => Err(errors.join("\n")),
    }
}

fn read(python: &Path, files: &[&Path]) -> Result<Done, String> {
    process::output(Command::new(python).args(["-c", SCRIPT]).args(files)).map(|_| Done::Passed)
}
