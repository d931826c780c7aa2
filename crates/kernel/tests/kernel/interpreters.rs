//! Which Python a run uses: real environments of each kind, and real kernels in them.

use std::ffi::OsString;
use std::path::Path;

use kernel::python_environment::{self, FoundPython, Surroundings, describe};
use kernel::{Kernel, Launch};
use sandbox::redacted;
use supervise::Controls;

use crate::python::{make_environment, python, share_packages};
use crate::session::launch;

fn surroundings(given: &[(&str, &Path)], wanted: Option<&str>) -> Surroundings {
    let given: Vec<(OsString, OsString)> =
        given.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))).collect();
    Surroundings::of(&given, wanted)
}

/// The interpreter that its kernel says it is.
fn started(project: &Path, found: FoundPython) -> String {
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
    insta::assert_snapshot!(redacted(missing.to_string()), @"`yours` is neither a Python interpreter nor a Jupyter kernelspec: give the path of one, or install it");
}

/// The real uv in a project, without the network; what it printed.
fn uv(project: &Path, environment: &[(&str, &str)], arguments: &[&str]) -> String {
    let done = std::process::Command::new(python().with_file_name("uv"))
        .args(["--offline", "--no-python-downloads", "--no-config", "--quiet"])
        .args(arguments)
        .current_dir(project)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", project.join("home"))
        .env("UV_CACHE_DIR", project.join("cache"))
        .env("UV_PYTHON", python())
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

const ITS_PYTHON: [&str; 5] = ["run", "--no-sync", "python", "-c", "import sys; print(sys.executable)"];

fn uv_project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let text =
        "[project]\nname = \"study\"\nversion = \"0.1.0\"\nrequires-python = \">=3.11\"\ndependencies = []\n";
    std::fs::write(folder.path().join("pyproject.toml"), text).unwrap();
    uv(folder.path(), &[], &["lock"]);
    folder
}

#[test]
fn the_environment_of_a_uv_project_is_the_one_that_uv_would_use() {
    let folder = uv_project();
    let project = folder.path();
    uv(project, &[], &["sync"]);
    share_packages(&project.join(".venv"));
    // Another one lies there as well.
    make_environment(&project.join("venv"));
    let found = python_environment::find(project, &surroundings(&[], None)).unwrap();
    assert_eq!(found.origin, "the project's environment of uv");
    assert_eq!(started(project, found), uv(project, &[], &ITS_PYTHON));

    // uv can be told to keep it elsewhere.
    let elsewhere = [("UV_PROJECT_ENVIRONMENT", "elsewhere")];
    uv(project, &elsewhere, &["sync"]);
    share_packages(&project.join("elsewhere"));
    let given = surroundings(&[("UV_PROJECT_ENVIRONMENT", Path::new("elsewhere"))], None);
    let found = python_environment::find(project, &given).unwrap();
    let python = started(project, found);
    assert_eq!(python, uv(project, &elsewhere, &ITS_PYTHON));
    assert_eq!(python, project.join("elsewhere/bin/python").to_str().unwrap());
}

#[test]
fn a_uv_project_without_its_environment_or_without_ipykernel_says_what_to_do() {
    let folder = uv_project();
    let project = folder.path();
    // A Python in `PATH` would do, and is not the project's.
    let given = surroundings(&[("PATH", python().parent().unwrap())], None);
    let told = python_environment::find(project, &given).unwrap_err().to_string();
    let venv = project.join(".venv");
    assert_eq!(
        told,
        format!(
            "the project has a `uv.lock`, and its environment `{}` does not exist yet: create it with `uv sync`, or name another Python in the plan (`interpreter`)",
            venv.display()
        )
    );
    assert!(!venv.exists(), "looking makes nothing");

    uv(project, &[], &["sync"]);
    let found = python_environment::find(project, &given).unwrap();
    let bare = Launch { argv: found.argv.clone(), ..launch(project) };
    let told = found.remedy(&Kernel::start(&bare, &Controls::new().unwrap()).unwrap_err()).unwrap();
    assert!(told.ends_with("has no ipykernel: install it with `uv add --dev ipykernel`"), "{told}");

    // Without a lock file it is an environment as any other; only that it has no pip.
    std::fs::remove_file(project.join("uv.lock")).unwrap();
    let found = python_environment::find(project, &given).unwrap();
    assert_eq!(found.argv, bare.argv);
    let told = found.remedy(&Kernel::start(&bare, &Controls::new().unwrap()).unwrap_err()).unwrap();
    let hint = format!("install it with `uv pip install --python {}/bin/python ipykernel`", venv.display());
    assert!(told.ends_with(&hint), "{told}");
}

/// Passed over it would be a run in another Python than the project's.
#[test]
fn an_environment_whose_python_is_gone_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path();
    make_environment(&project.join(".venv"));
    for python in ["python", "python3"] {
        let path = project.join(".venv/bin").join(python);
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/nonexistent/python3", path).unwrap();
    }
    let given = surroundings(&[("PATH", python().parent().unwrap())], None);
    let told = python_environment::find(project, &given).unwrap_err().to_string();
    insta::assert_snapshot!(redacted(&told), @"the virtual environment `[folder]/.venv` has no `bin/python` that can be run: create it again, or name another Python in the plan (`interpreter`)");
    let gone = project.join("gone");
    let told = python_environment::find(project, &surroundings(&[("VIRTUAL_ENV", &gone)], None)).unwrap_err();
    assert!(told.to_string().starts_with("the active virtual environment `"), "{told}");
}
