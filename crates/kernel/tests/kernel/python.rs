//! The Python environment of the tests, and others that share its packages.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The interpreter of an environment with ipykernel, pandas and the like, made once.
pub(crate) fn python() -> &'static Path {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    PYTHON.get_or_init(|| {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let folder = crates.join("../target/python");
        let made =
            Command::new("sh").arg(crates.join("kernel/tests/python/make.sh")).arg(&folder).status().unwrap();
        assert!(made.success(), "the Python environment could not be made");
        folder.canonicalize().unwrap().join("bin/python")
    })
}

/// Runs a script to its end; what it printed.
pub(crate) fn run_script(script: &str, arguments: &[&Path]) -> String {
    let output = Command::new(python()).arg("-c").arg(script).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A real environment of its own, which sees the packages of the tests.
pub(crate) fn make_environment(folder: &Path) {
    run_script("import sys, venv\nvenv.create(sys.argv[1], symlinks=True)", &[folder]);
    share_packages(folder);
}

/// Makes an environment see the packages of the tests.
pub(crate) fn share_packages(folder: &Path) {
    run_script(
        "import pathlib, sys, sysconfig\n\
         site = next(pathlib.Path(sys.argv[1]).glob('lib/python*/site-packages'))\n\
         (site / 'tests.pth').write_text(sysconfig.get_path('purelib'))",
        &[folder],
    );
}
