//! The packages as people meet them: each is installed from its file into an empty place, by the program that people install it
//! with, and plays the demo from there.

mod bare_root;
mod npm_registry;
mod place;
mod validators;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::archive::Squeeze;
use crate::distribution::{BuiltProgram, DOWNLOADS, Distribution, ProgramDocuments, VERSION};
use crate::needs;
use crate::process;
use crate::python;
use crate::release;
use crate::root;
use crate::steps::Done;
use npm_registry::NpmRegistry;
use place::EmptyPlace;

/// A trial, and how it ended.
type Trial<'a> = (&'static str, Box<dyn Fn() -> Result<Done, String> + Send + 'a>);

/// A sample for every test run: the program of the tests, without its debug information, packed quickly.
pub(crate) fn sample() -> Result<Done, String> {
    process::run(process::test_target("checkstone").arg("--no-run"))?;
    let place = tempfile::tempdir().map_err(|error| error.to_string())?;
    let program = place.path().join("checkstone");
    let built = process::built_beside_us("checkstone")?;
    if process::output(Command::new("strip").arg("-o").arg(&program).arg(&built)).is_err() {
        fs_err::copy(&built, &program).map_err(|error| error.to_string())?;
    }
    let folder = place.path().join("dist");
    pack(&program, &folder, Squeeze::Fast)?;
    let file = |end: &str| file(&folder, end);
    all(vec![
        ("checksums", Box::new(|| checksums(&folder))),
        ("npm install", Box::new(|| npm_install(&folder))),
        ("pip install", Box::new(|| pip_install(&folder))),
        ("dpkg --install", Box::new(|| dpkg_install(&file(".deb")?))),
        ("install.sh", Box::new(|| install_script(&folder))),
    ])
}

/// All of it, with the program as it is handed out, or with this one.
pub(crate) fn whole(program: Option<&Path>) -> Result<Done, String> {
    let folder = root().join("target/dist/trial");
    let program = match program {
        Some(program) => program.to_owned(),
        None => release::build_for_packages(release::host()?)?.path,
    };
    pack(&program, &folder, Squeeze::Best)?;
    let again = tempfile::tempdir().map_err(|error| error.to_string())?;
    pack(&program, again.path(), Squeeze::Best)?;
    let file = |end: &str| file(&folder, end);
    all(vec![
        ("a second packing gives the same bytes", Box::new(|| same_bytes(&folder, again.path()))),
        ("checksums", Box::new(|| checksums(&folder))),
        ("npm install", Box::new(|| npm_install(&folder))),
        ("npx", Box::new(|| npx(&folder))),
        ("npm install, a newer Node.js", Box::new(|| newer_node(&folder))),
        ("pip install", Box::new(|| pip_install(&folder))),
        ("uv tool install and uvx", Box::new(|| uv(&folder))),
        ("dpkg --install", Box::new(|| dpkg_install(&file(".deb")?))),
        ("install.sh", Box::new(|| install_script(&folder))),
        ("only Node.js and git", Box::new(|| bare_root::npm(&folder))),
        ("only Python and git", Box::new(|| bare_root::pip(&folder))),
        ("only git, with the Debian package unpacked", Box::new(|| bare_root::dpkg(&file(".deb")?))),
        ("only curl and git, with the script", Box::new(|| bare_root::script(&folder))),
        (
            "the bill of materials by its schema",
            Box::new(|| validators::bill_of_materials(&file(".cdx.json")?)),
        ),
        ("the wheel by twine and auditwheel", Box::new(|| validators::wheel(&file(".whl")?))),
        ("the formula by Ruby", Box::new(|| validators::formula(&folder))),
    ])
}

/// Packs one program for this machine, with all that names it.
pub(crate) fn pack(program: &Path, folder: &Path, squeeze: Squeeze) -> Result<(), String> {
    let distribution = Distribution { folder: folder.to_owned(), squeeze };
    distribution.clear()?;
    let built = BuiltProgram::read(release::host()?, program)?;
    distribution.pack(&built, &ProgramDocuments::written_by(program)?)?;
    distribution.index(DOWNLOADS).map(drop)
}

/// Runs them side by side, for each waits for processes most of the time; every one is run, whatever became of the others.
fn all(trials: Vec<Trial<'_>>) -> Result<Done, String> {
    let ended = std::thread::scope(|scope| {
        let running = trials.into_iter().map(|(name, trial)| {
            let run = move || {
                let began = Instant::now();
                (trial(), began.elapsed())
            };
            (name, scope.spawn(run))
        });
        let running: Vec<_> = running.collect();
        let ended = running.into_iter().map(|(name, running)| (name, running.join()));
        ended.collect::<Vec<_>>()
    });
    let mut failed = Vec::new();
    for (name, ended) in ended {
        let (result, took) = ended.map_err(|_| format!("`{name}` panicked"))?;
        let told = match result {
            Ok(Done::Passed) => "passed".to_owned(),
            Ok(Done::Skipped(why)) => format!("skipped: {why}"),
            Err(why) => {
                failed.push(name);
                format!("FAILED: {why}")
            }
        };
        println!("{:7.1} s  {name}: {told}", took.as_secs_f32());
    }
    match failed.as_slice() {
        [] => Ok(Done::Passed),
        names => Err(names.join(", ")),
    }
}

/// The one file of this folder whose name ends so.
fn file(folder: &Path, end: &str) -> Result<PathBuf, String> {
    let entries = fs_err::read_dir(folder).map_err(|error| error.to_string())?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut fitting = paths.filter(|path| path.to_string_lossy().ends_with(end));
    fitting.next().ok_or_else(|| format!("no file in `{}` ends in `{end}`", folder.display()))
}

fn same_bytes(one: &Path, other: &Path) -> Result<Done, String> {
    process::output(Command::new("diff").arg("--recursive").arg(one).arg(other)).map(|_| Done::Passed)
}

fn checksums(folder: &Path) -> Result<Done, String> {
    let mut check = Command::new("sha256sum");
    process::output(check.args(["--check", "--strict", "SHA256SUMS"]).current_dir(folder))?;
    Ok(Done::Passed)
}

fn npm_install(folder: &Path) -> Result<Done, String> {
    if !needs::is_there("npm") {
        return Ok(Done::Skipped("npm is missing".to_owned()));
    }
    let registry = NpmRegistry::serve(folder)?;
    let place = EmptyPlace::make()?;
    let prefix = place.path("prefix");
    let mut install = place.command("npm", None);
    install.args(["install", "--global", "checkstone", "--no-audit", "--no-fund", "--no-update-notifier"]);
    process::output(install.arg("--prefix").arg(&prefix).arg("--registry").arg(&registry.address))?;
    let launcher = prefix.join("bin/checkstone");
    place.demo(&launcher, None)?;
    passes_exit_codes_on(&place, &launcher)?;
    registers_the_program(&place, &prefix.join("bin"))?;
    tells_what_is_missing(&place, &prefix)?;
    Ok(Done::Passed)
}

/// A command line that is wrong ends with 2, whoever starts the program.
fn passes_exit_codes_on(place: &EmptyPlace, program: &Path) -> Result<(), String> {
    let status = place.command(program, None).arg("no-such-command").output();
    match status.map_err(|error| error.to_string())?.status.code() {
        Some(2) => Ok(()),
        code => Err(format!("a wrong command line ended with {code:?} instead of 2")),
    }
}

/// `init` writes the program itself into the settings, and not what npm put on the `PATH`.
fn registers_the_program(place: &EmptyPlace, bin: &Path) -> Result<(), String> {
    fs_err::create_dir(place.path("home/.claude")).map_err(|error| error.to_string())?;
    let mut init = place.command(bin.join("checkstone"), Some(bin));
    process::output(init.args(["init", "--user", "--agent", "claude", "--yes"]))?;
    let text = fs_err::read_to_string(place.path("home/.claude/settings.json"));
    let settings: Value =
        serde_json::from_str(&text.map_err(|error| error.to_string())?).map_err(|error| error.to_string())?;
    let command = settings.pointer("/hooks/Stop/0/hooks/0/command").and_then(Value::as_str);
    let command = command.ok_or("`init` registered no command for stops")?;
    let registered = command.split_whitespace().next().unwrap_or_default().trim_matches(['"', '\'']);
    let bytes = fs_err::read(registered).map_err(|error| error.to_string())?;
    if bytes.starts_with(b"\x7fELF") || bytes.starts_with(b"\xcf\xfa\xed\xfe") {
        return Ok(());
    }
    Err(format!("`init` registered `{registered}`, which is not the program"))
}

/// Without the package of the platform, the launcher says which one it looked for.
fn tells_what_is_missing(place: &EmptyPlace, prefix: &Path) -> Result<(), String> {
    let name = release::host()?.npm_name();
    let modules = prefix.join("lib/node_modules");
    for folder in [modules.join("checkstone/node_modules"), modules] {
        let _ = fs_err::remove_dir_all(folder.join("@checkstone"));
    }
    let output = place.command(prefix.join("bin/checkstone"), None).arg("demo").output();
    let output = output.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = format!(
        "error: checkstone cannot start: the package @checkstone/{name} is not installed.\n\
         hint: install checkstone again, without `--omit=optional` or `--no-optional`\n"
    );
    if output.status.code() == Some(6) && said == expected {
        return Ok(());
    }
    Err(format!("without its program the launcher ended with {} and said: {said}", output.status))
}

fn npx(folder: &Path) -> Result<Done, String> {
    let registry = NpmRegistry::serve(folder)?;
    let place = EmptyPlace::make()?;
    let mut npx = place.command("npx", None);
    npx.args(["--yes", "--registry", &registry.address, "checkstone", "demo"]);
    place::is_whole(&process::output(&mut npx)?)?;
    Ok(Done::Passed)
}

/// One that can replace its own process, which the launcher then does.
fn newer_node(folder: &Path) -> Result<Done, String> {
    const NODE: &str = "node@24.8.0";
    let tools = root().join("target/tools/node-24");
    let bin = tools.join("node_modules/node/bin");
    if !bin.join("node").is_file() {
        fs_err::create_dir_all(&tools).map_err(|error| error.to_string())?;
        // The program comes by a script of the package.
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--no-package-lock", "--prefix"]);
        process::output(npm.arg(&tools).arg(NODE))?;
    }
    let registry = NpmRegistry::serve(folder)?;
    let place = EmptyPlace::make()?;
    let mut install = place.command("npm", None);
    install.args(["install", "--global", "checkstone", "--no-audit", "--no-fund", "--no-update-notifier"]);
    let prefix = place.path("prefix");
    process::output(install.arg("--prefix").arg(&prefix).arg("--registry").arg(&registry.address))?;
    place.demo(prefix.join("bin/checkstone"), Some(&bin))?;
    let output = place.command(prefix.join("bin/checkstone"), Some(&bin)).arg("--version").output();
    let output = output.map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.is_empty() { Ok(Done::Passed) } else { Err(format!("the launcher printed: {said}")) }
}

fn pip_install(folder: &Path) -> Result<Done, String> {
    if !needs::is_there("python3") {
        return Ok(Done::Skipped("python3 is missing".to_owned()));
    }
    let place = EmptyPlace::make()?;
    let environment = place.path("environment");
    let mut make = place.command("python3", None);
    make.args(["-m", "venv"]).arg(&environment);
    // Most of the time goes into a pip for the environment; one that is there already can install into it.
    let has_pip = process::output(place.command("python3", None).args(["-m", "pip", "--version"])).is_ok();
    let mut install = if has_pip {
        process::output(make.arg("--without-pip"))?;
        let mut pip = place.command("python3", None);
        pip.args(["-m", "pip", "--python"]).arg(environment.join("bin/python"));
        pip
    } else {
        process::output(&mut make)?;
        place.command(environment.join("bin/pip"), None)
    };
    install.args(["install", "--quiet", "--disable-pip-version-check", "--no-index"]);
    process::output(install.arg("--find-links").arg(folder).arg("checkstone"))?;
    let bin = environment.join("bin");
    place.demo(bin.join("checkstone"), None)?;
    registers_the_program(&place, &bin)?;
    Ok(Done::Passed)
}

fn uv(folder: &Path) -> Result<Done, String> {
    let python = python::environment(&root().join("target/tools/uv"), "uv==0.13.7")?;
    let bin = python.parent().map(Path::to_owned).unwrap_or_default();
    let place = EmptyPlace::make()?;
    let offline = ["--no-index", "--quiet", "--find-links"];
    let mut install = place.command(bin.join("uv"), None);
    process::output(install.args(["tool", "install"]).args(offline).arg(folder).arg("checkstone"))?;
    let own = place.path("home/.local/bin");
    place.demo(own.join("checkstone"), None)?;
    registers_the_program(&place, &own)?;
    let mut uvx = place.command(bin.join("uvx"), None);
    uvx.args(offline).arg(folder).args(["checkstone", "demo"]);
    place::is_whole(&process::output(&mut uvx)?)?;
    Ok(Done::Passed)
}

/// Into a root of its own, whose database of packages is empty.
fn dpkg_install(package: &Path) -> Result<Done, String> {
    if !needs::is_there("dpkg") || !needs::is_root() {
        return Ok(Done::Skipped("dpkg installs only as root, on Debian and its relatives".to_owned()));
    }
    let place = EmptyPlace::make()?;
    let root = place.path("root");
    let database = root.join("var/lib/dpkg");
    let failed = |error: std::io::Error| error.to_string();
    for folder in ["updates", "info"] {
        fs_err::create_dir_all(database.join(folder)).map_err(failed)?;
    }
    fs_err::write(database.join("status"), "").map_err(failed)?;
    let mut dpkg = place.command("dpkg", None);
    // In an empty root git is missing by the database; the one of this machine is used.
    dpkg.arg(format!("--root={}", root.display())).args(["--force-depends", "--install"]).arg(package);
    process::output(&mut dpkg)?;
    place.demo(root.join("usr/bin/checkstone"), None)?;
    let mut status = place.command("dpkg-query", None);
    status.arg(format!("--admindir={}", database.display()));
    let said = process::output(status.args(["--show", "--showformat=${Version} ${Status}", "checkstone"]))?;
    if said == format!("{VERSION} install ok installed") {
        return Ok(Done::Passed);
    }
    Err(format!("dpkg says of the package: {said}"))
}

fn install_script(folder: &Path) -> Result<Done, String> {
    if !needs::is_there("curl") && !needs::is_there("wget") {
        return Ok(Done::Skipped("curl and wget are missing".to_owned()));
    }
    let place = EmptyPlace::make()?;
    let run = |downloads: &Path| {
        let mut script = place.command("sh", None);
        script.arg(folder.join("install.sh"));
        script.env("CHECKSTONE_DOWNLOADS", format!("file://{}", downloads.display()));
        process::output(&mut script)
    };
    let damaged = place.path("damaged");
    fs_err::create_dir(&damaged).map_err(|error| error.to_string())?;
    let archive = format!("checkstone-{VERSION}-{}.tar.gz", release::host()?.target);
    fs_err::write(damaged.join(&archive), "damaged").map_err(|error| error.to_string())?;
    let installed = place.path("home/.local/bin/checkstone");
    if run(&damaged).is_ok() || installed.exists() {
        return Err("a damaged download was installed".to_owned());
    }
    run(folder)?;
    place.demo(&installed, None)?;
    Ok(Done::Passed)
}
