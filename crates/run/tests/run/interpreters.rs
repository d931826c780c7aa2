//! Which Python a run uses: real environments of each kind, and real kernels in them.

use std::ffi::OsString;
use std::path::Path;

use run::kernel::{Kernel, Launch};
use run::python_environment::{self, Found, Surroundings, describe};
use run::supervisor::Controls;

use crate::python::{launch, python, run_script};

/// A real environment of its own, which sees the packages of the tests.
fn make_environment(folder: &Path) {
    run_script(
        "import pathlib, sys, sysconfig, venv\nvenv.create(sys.argv[1], symlinks=True)\n\
         site = next(pathlib.Path(sys.argv[1]).glob('lib/python*/site-packages'))\n\
         (site / 'tests.pth').write_text(sysconfig.get_path('purelib'))",
        &[folder],
    );
}

fn surroundings(given: &[(&str, &Path)], wanted: Option<&str>) -> Surroundings {
    let given: Vec<(OsString, OsString)> =
        given.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
    Surroundings::of(&given, wanted)
}

/// The interpreter that its kernel says it is.
fn started(project: &Path, found: Found) -> String {
    let argv = found.argv;
    let mut environment = launch(project).environment;
    environment.extend(found.environment);
    let launch = Launch { argv, environment, ..launch(project) };
    let mut kernel = Kernel::start(&launch, &Controls::new().unwrap()).unwrap();
    let python = describe(&mut kernel, &[]).unwrap().python_path;
    kernel.kill();
    python
}

#[test]
fn the_environment_in_the_project_is_used_unless_another_one_is_active() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path();
    make_environment(&project.join(".venv"));
    make_environment(&project.join("active"));
    let found = python_environment::find(project, &surroundings(&[], None)).unwrap();
    assert_eq!(found.origin, "the project's `.venv`");
    assert_eq!(started(project, found), project.join(".venv/bin/python").to_str().unwrap());

    let active = project.join("active");
    let found = python_environment::find(project, &surroundings(&[("VIRTUAL_ENV", &active)], None)).unwrap();
    assert_eq!(found.argv[0], active.join("bin/python"));
    let wanted = surroundings(&[("VIRTUAL_ENV", &active)], Some(".venv/bin/python"));
    let found = python_environment::find(project, &wanted).unwrap();
    assert_eq!(found.argv[0], project.join(".venv/bin/python"), "the plan's word comes first");
}

/// A conda environment is a folder with `bin/python` in it, as this one is.
#[test]
fn the_active_conda_environment_is_used_where_the_project_has_none() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path();
    let conda = project.join("conda/envs/mine");
    make_environment(&conda);
    let found = python_environment::find(project, &surroundings(&[("CONDA_PREFIX", &conda)], None)).unwrap();
    assert_eq!(found.origin, "the active conda environment");
    assert_eq!(started(project, found), conda.join("bin/python").to_str().unwrap());
}

#[test]
fn a_kernelspec_that_ipykernel_installed_is_found_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path();
    let install = |name: &str| {
        let installed = std::process::Command::new(python())
            .args(["-m", "ipykernel", "install", "--name", name, "--env", "COLOUR", "red", "--prefix"])
            .arg(project.join("installed"))
            .env("HOME", project)
            .output()
            .unwrap();
        assert!(installed.status.success(), "{}", String::from_utf8_lossy(&installed.stderr));
    };
    install("mine");
    install("python3");
    let jupyter = project.join("installed/share/jupyter");
    let given = [("JUPYTER_PATH", jupyter.as_path())];
    let found = python_environment::find(project, &surroundings(&given, None)).unwrap();
    assert_eq!(found.origin, "the kernelspec `python3`");
    let found = python_environment::find(project, &surroundings(&given, Some("mine"))).unwrap();
    assert_eq!(found.origin, "the kernelspec `mine`");
    assert_eq!(found.environment, [("COLOUR".into(), "red".into())]);
    assert_eq!(started(project, found), python().to_str().unwrap());
    let missing = python_environment::find(project, &surroundings(&given, Some("yours"))).unwrap_err();
    assert!(missing.to_string().contains("`yours` is neither a Python interpreter nor"), "{missing}");
}
