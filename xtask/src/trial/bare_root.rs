//! A root folder with next to nothing in it: a shell, five of the small programs that every Unix has, git, and Node.js or Python or neither. Packages are installed and the demo is
//! played with this folder as the whole file system, so that nothing else of this machine can help.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::npm_registry::NpmRegistry;
use super::place;
use crate::needs;
use crate::process;
use crate::steps::Done;

/// What every root has: what starts scripts, and what the demo needs.
const BASE: [&str; 7] = ["sh", "env", "git", "awk", "mkdir", "seq", "sleep"];

/// What else comes with the C library, on every machine that has it.
const PARTS_OF_GLIBC: [&str; 3] = ["libdl.so.2", "libm.so.6", "libpthread.so.0"];

pub(super) fn npm(packages: &Path) -> Result<Done, String> {
    let Some(root) = BareRoot::make(&["node"])? else { return Ok(skipped()) };
    let npm = found("npm")?;
    let npm = npm.canonicalize().map_err(|error| error.to_string())?;
    // `…/npm/bin/npm-cli.js`
    root.copy(npm.ancestors().nth(2).unwrap_or(&npm))?;
    // The registry is reached over loopback, which the root shares with this machine.
    let registry = NpmRegistry::serve(packages)?;
    let script = format!(
        "cd /root && node {} install --global --prefix /usr --no-audit --no-fund --no-update-notifier \
         --registry {} checkstone >/dev/null && checkstone demo",
        npm.display(),
        registry.address
    );
    place::is_whole(&root.run(&script)?)?;
    Ok(Done::Passed)
}

pub(super) fn pip(packages: &Path) -> Result<Done, String> {
    let Some(root) = BareRoot::make(&[])? else { return Ok(skipped()) };
    let about =
        "import sys, sysconfig; print(sys.base_prefix, sysconfig.get_path('stdlib'), sys.version_info.minor)";
    let said = process::output(Command::new("python3").args(["-c", about]))?;
    let [prefix, library, minor] = said.split_whitespace().collect::<Vec<_>>()[..] else {
        return Err(format!("Python says of itself: {said}"));
    };
    let python = Path::new(prefix).join(format!("bin/python3.{minor}"));
    root.copy_program(&python)?;
    root.copy_library(Path::new(library))?;
    let at_home = root.folder.path().join("packages");
    copy_all(packages, &at_home)?;
    let script = format!(
        "{} -m venv /root/environment && /root/environment/bin/pip install --quiet --disable-pip-version-check --no-index \
         --find-links /packages checkstone && /root/environment/bin/checkstone demo",
        python.display()
    );
    place::is_whole(&root.run(&script)?)?;
    Ok(Done::Passed)
}

pub(super) fn dpkg(package: &Path) -> Result<Done, String> {
    if !needs::is_there("dpkg-deb") {
        return Ok(Done::Skipped("dpkg-deb is missing".to_owned()));
    }
    let Some(root) = BareRoot::make(&[])? else { return Ok(skipped()) };
    process::output(Command::new("dpkg-deb").arg("--extract").arg(package).arg(root.folder.path()))?;
    place::is_whole(&root.run("cd /root && checkstone demo")?)?;
    Ok(Done::Passed)
}

/// The script itself needs the usual small programs as well.
pub(super) fn script(packages: &Path) -> Result<Done, String> {
    let small = ["uname", "mktemp", "rm", "cp", "mv", "chmod", "sha256sum", "tar", "gzip", "curl"];
    let Some(root) = BareRoot::make(&small)? else { return Ok(skipped()) };
    copy_all(packages, &root.folder.path().join("packages"))?;
    let script = "export CHECKSTONE_DOWNLOADS=file:///packages && sh /packages/install.sh >/dev/null && \
        cd /root && /root/.local/bin/checkstone demo";
    place::is_whole(&root.run(script)?)?;
    Ok(Done::Passed)
}

fn skipped() -> Done {
    Done::Skipped("this machine lets nobody but root have a root folder of their own".to_owned())
}

struct BareRoot {
    folder: tempfile::TempDir,
}

impl BareRoot {
    /// `None` where the system does not let us use one.
    fn make(programs: &[&str]) -> Result<Option<Self>, String> {
        if namespaces().is_none() {
            return Ok(None);
        }
        let failed = |error: std::io::Error| error.to_string();
        let root = Self { folder: tempfile::tempdir().map_err(failed)? };
        for folder in ["root", "tmp", "proc", "dev", "etc", "bin", "usr/bin"] {
            fs_err::create_dir_all(root.folder.path().join(folder)).map_err(failed)?;
        }
        for program in BASE.iter().chain(programs) {
            let path = found(program)?;
            root.copy_program(&path.canonicalize().map_err(failed)?)?;
            let link =
                root.folder.path().join(if *program == "sh" { "bin" } else { "usr/bin" }).join(program);
            if !link.exists() {
                let target = path.canonicalize().map_err(failed)?;
                fs_err::os::unix::fs::symlink(target, link).map_err(failed)?;
            }
        }
        let parts = process::output(Command::new("git").arg("--exec-path"))?;
        root.copy(Path::new(parts.trim()))?;
        Ok(Some(root))
    }

    /// The file and the libraries that the loader would look for.
    fn copy_program(&self, program: &Path) -> Result<(), String> {
        self.copy(program)?;
        // A script has none.
        let libraries = process::output(Command::new("ldd").arg(program)).unwrap_or_default();
        for library in libraries.split_whitespace().filter(|word| word.starts_with('/')) {
            let library = Path::new(library);
            self.copy(library)?;
            if library.file_name().is_some_and(|name| name == "libc.so.6") {
                let parts = PARTS_OF_GLIBC.iter().map(|part| library.with_file_name(part));
                parts.filter(|part| part.is_file()).try_for_each(|part| self.copy(&part))?;
            }
        }
        Ok(())
    }

    /// A file or a folder at the place where it is here. Where the way there leads through links, it leads through folders there.
    fn copy(&self, path: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| error.to_string();
        let target = self.folder.path().join(path.strip_prefix("/").unwrap_or(path));
        fs_err::create_dir_all(target.parent().unwrap_or(&target)).map_err(failed)?;
        if path.is_dir() {
            return process::output(Command::new("cp").arg("-a").arg(path).arg(&target)).map(drop);
        }
        fs_err::copy(path, &target).map(drop).map_err(failed)
    }

    /// Python's own library without what was installed into it and without its tests, and what its parts are linked with.
    fn copy_library(&self, folder: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| error.to_string();
        for entry in fs_err::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if !["site-packages", "dist-packages", "test", "idlelib"]
                .iter()
                .any(|name| entry.file_name() == *name)
            {
                self.copy(&entry.path())?;
            }
        }
        for part in fs_err::read_dir(folder.join("lib-dynload")).map_err(failed)? {
            self.copy_program(&part.map_err(failed)?.path())?;
        }
        Ok(())
    }

    /// Runs a script of the shell with this folder as the root; what it printed.
    fn run(&self, script: &str) -> Result<String, String> {
        let mut unshare = Command::new("unshare");
        unshare.args(namespaces().unwrap_or_default()).args(["--mount", "--pid", "--fork", "sh", "-c"]);
        unshare.arg("mount --rbind /dev \"$1/dev\" && mount -t proc proc \"$1/proc\" && exec chroot \"$1\" /bin/sh -c \"$2\"");
        unshare.arg("sh").arg(self.folder.path()).arg(script);
        unshare
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", "/root")
            .env("LC_ALL", "C.UTF-8");
        process::output(unshare.stdin(Stdio::null()))
    }
}

/// What `unshare` needs to be told so that it may: nothing as root, a root of one's own otherwise.
fn namespaces() -> Option<&'static [&'static str]> {
    [&[][..], &["--map-root-user"]].into_iter().find(|words| {
        let mut attempt = Command::new("unshare");
        attempt.args(*words).args(["--mount", "--pid", "--fork", "mount", "-t", "tmpfs", "tmpfs", "/tmp"]);
        attempt.stdout(Stdio::null()).stderr(Stdio::null());
        attempt.status().is_ok_and(|status| status.success())
    })
}

/// Where a program is.
fn found(program: &str) -> Result<PathBuf, String> {
    let mut which = Command::new("sh");
    which.args(["-c", "command -v \"$0\"", program]);
    process::output(&mut which).map(|path| PathBuf::from(path.trim()))
}

/// Every file of a folder.
fn copy_all(from: &Path, to: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    fs_err::create_dir_all(to).map_err(failed)?;
    for entry in fs_err::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_type().map_err(failed)?.is_file() {
            fs_err::copy(entry.path(), to.join(entry.file_name())).map_err(failed)?;
        }
    }
    Ok(())
}
