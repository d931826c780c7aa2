//! The program as it is handed out. Once linked statically and at a fixed place, for the packages of the clients and for benchmarks, since
//! the hook is a fresh process at every call and the dynamic linker takes a part of its start. And once for package managers, for each
//! platform whose standard library is installed: linked with zig against a glibc that is old enough for every Linux in use, since a
//! static glibc looks up names of hosts with files of its own version.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::archive::Squeeze;
use crate::distribution::platform::{PLATFORMS, Platform};
use crate::distribution::{BuiltProgram, DOWNLOADS, Distribution, ProgramDocuments};
use crate::packages;
use crate::process::{self, cargo_command};
use crate::python;
use crate::root;

const HOST: &str = env!("XTASK_HOST");

/// The linker, and what makes cargo use it; from PyPI.
const ZIG: &str = "cargo-zigbuild==0.24.0 ziglang==0.17.0";

/// Build what is handed out, in `target/dist`: the program as one static file, the packages of the clients, and packages for npm, PyPI,
/// Debian, Homebrew and `curl | sh`, with checksums
#[derive(clap::Args)]
pub(crate) struct ReleaseArguments {
    /// Packages for this target only; may be given several times. By default all whose standard library is installed
    #[arg(long)]
    target: Vec<String>,
    /// Pack this program, which runs on this machine, instead of building one
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// The folder for the packages; `target/dist` by default
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
    /// Build nothing: make only what names the packages that are in the folder (npm's `checkstone`, the formula, the script, the checksums)
    #[arg(long)]
    index: bool,
    /// Where the release will be found, without the last part, `/vVERSION`
    #[arg(long, value_name = "URL", default_value = DOWNLOADS)]
    downloads: String,
}

pub(crate) fn run(arguments: &ReleaseArguments) -> Result<(), String> {
    let folder = arguments.into.clone().unwrap_or_else(|| root().join("target/dist"));
    let distribution = Distribution { folder, squeeze: Squeeze::Best };
    let mut made = Vec::new();
    if !arguments.index {
        distribution.clear()?;
        match &arguments.program {
            Some(program) => {
                made.extend(
                    distribution.pack(
                        &BuiltProgram::read(host()?, program)?,
                        &ProgramDocuments::written_by(program)?,
                    )?,
                );
            }
            None => made.extend(build_all(&distribution, &arguments.target)?),
        }
    }
    made.extend(distribution.index(&arguments.downloads)?);
    for file in made {
        println!("{}", file.display());
    }
    Ok(())
}

/// Builds and packs for these targets, or for all that can be built here.
fn build_all(distribution: &Distribution, targets: &[String]) -> Result<Vec<PathBuf>, String> {
    let platforms = match targets {
        [] => PLATFORMS.iter().collect(),
        named => named.iter().map(|target| Platform::of_target(target)).collect::<Result<Vec<_>, _>>()?,
    };
    let fixed = build()?;
    let documents = ProgramDocuments::written_by(&fixed)?;
    let mut made = vec![fixed.clone()];
    for folder in packages::make(&fixed, &root().join("target/dist/packages"))? {
        made.push(distribution.pack_folder(&folder)?);
    }
    let mut skipped = Vec::new();
    for platform in platforms {
        if !is_linked_here(platform) {
            skipped.push(platform.target);
            println!("not built for {}: it is linked on macOS, with Apple's frameworks", platform.target);
        } else if has_standard_library(platform.target)? {
            made.extend(distribution.pack(&build_for_packages(platform)?, &documents)?);
        } else {
            skipped.push(platform.target);
            println!(
                "not built for {}: its standard library is not installed (`rustup target add {0}`)",
                platform.target
            );
        }
    }
    // Whoever names a target wants it.
    match (targets, skipped.as_slice()) {
        ([], _) | (_, []) => Ok(made),
        (_, skipped) => Err(format!("not built: {}", skipped.join(", "))),
    }
}

/// The platform that this runs on.
pub(crate) fn host() -> Result<&'static Platform, String> {
    Platform::of_target(HOST)
}

/// A program for macOS takes Apple's frameworks, which only a Mac has.
fn is_linked_here(platform: &Platform) -> bool {
    platform.os != "darwin" || cfg!(target_os = "macos")
}

/// Nothing is fetched to find out.
pub(crate) fn has_standard_library(target: &str) -> Result<bool, String> {
    let folder =
        process::output(Command::new("rustc").args(["--print", "target-libdir", "--target", target]))?;
    let files = fs_err::read_dir(folder.trim());
    Ok(files.is_ok_and(|mut files| files.next().is_some()))
}

/// Builds the static program of this machine and says where it is.
pub(crate) fn build() -> Result<PathBuf, String> {
    let folder = root().join("target/dist");
    let mut build = cargo_command();
    // An explicit target keeps the flags away from procedural macros, which cannot be static.
    let mut flags = same_from_any_folder();
    if cfg!(target_os = "linux") {
        flags.extend(["-Ctarget-feature=+crt-static".to_owned(), "-Crelocation-model=static".to_owned()]);
    }
    build.arg("build");
    process::run(of_dist(&mut build, HOST, &folder, &flags))?;
    installed(&folder.join(HOST).join("dist/checkstone"), &folder)
}

/// Builds the program for a package manager's packages: with zig if that can be had, else static or as the system links.
pub(crate) fn build_for_packages(platform: &'static Platform) -> Result<BuiltProgram, String> {
    let with_zig = if platform.os == "linux" { build_with_zig(platform) } else { Err(String::new()) };
    let path = match with_zig {
        Ok(path) => path,
        Err(why) if platform.os == "linux" && platform.target != HOST => return Err(why),
        Err(why) => {
            if platform.os == "linux" {
                println!("linked statically, because zig could not be used: {why}");
            }
            build_natively(platform)?
        }
    };
    let built = BuiltProgram::read(platform, &path)?;
    if let (Some(needed), Some(oldest)) = (&built.needed_glibc, platform.oldest_glibc)
        && needed.to_string() != oldest
        && *needed > crate::distribution::GlibcVersion::parse(oldest).unwrap_or_default()
    {
        return Err(format!("`{}` needs glibc {needed}, and {oldest} was asked for", path.display()));
    }
    Ok(built)
}

fn build_natively(platform: &Platform) -> Result<PathBuf, String> {
    if platform.target == HOST && platform.os == "linux" {
        return build();
    }
    let folder = root().join("target/dist");
    let mut build = cargo_command();
    build.arg("build");
    process::run(of_dist(&mut build, platform.target, &folder, &same_from_any_folder()))?;
    Ok(folder.join(platform.target).join("dist/checkstone"))
}

fn build_with_zig(platform: &Platform) -> Result<PathBuf, String> {
    let folder = root().join("target/dist/zig");
    let target = match platform.oldest_glibc {
        Some(version) => format!("{}.{version}", platform.target),
        None => platform.target.to_owned(),
    };
    let mut build = cargo_command();
    build.env("PATH", path_with_zig()?).arg("zigbuild");
    process::run(of_dist(&mut build, &target, &folder, &same_from_any_folder()))?;
    Ok(folder.join(platform.target).join("dist/checkstone"))
}

/// Where programs are found, zig and what makes cargo use it among them; from PyPI, the first time.
pub(crate) fn path_with_zig() -> Result<OsString, String> {
    let python = python::environment(&root().join("target/tools/zig"), ZIG)?;
    let bin = python.parent().map(Path::to_owned).unwrap_or_default();
    let mut path = bin.into_os_string();
    path.push(":");
    path.push(process::path());
    Ok(path)
}

/// With the profile and the features of what is handed out.
fn of_dist<'a>(build: &'a mut Command, target: &str, folder: &Path, flags: &[String]) -> &'a mut Command {
    build.env_remove("RUSTFLAGS").env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    build.args(["--profile", "dist", "--quiet", "--package", "checkstone", "--features", "full"]);
    build.args(["--target", target, "--target-dir"]).arg(folder)
}

/// A copy, as every installed program is one. What the linker wrote lies in the page cache in small pieces, which takes
/// 0.2 ms longer to map at every start, until the machine has forgotten it.
fn installed(built: &Path, folder: &Path) -> Result<PathBuf, String> {
    let (copy, partial) = (folder.join("checkstone"), folder.join("checkstone.partial"));
    let failed = |error: std::io::Error| error.to_string();
    fs_err::copy(built, &partial).map_err(failed)?;
    fs_err::rename(&partial, &copy).map_err(failed)?;
    Ok(copy)
}

/// The same from whichever folder it is built, since panics name their source files.
fn same_from_any_folder() -> Vec<String> {
    let mut flags = vec![format!("--remap-path-prefix={}=checkstone", root().display())];
    if let Some(cargo) = cargo_home() {
        flags.push(format!("--remap-path-prefix={}=cargo", cargo.display()));
    }
    flags
}

/// Where cargo keeps the sources of dependencies.
#[expect(clippy::disallowed_methods, reason = "cargo itself is told by these")]
fn cargo_home() -> Option<PathBuf> {
    let set = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    set.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))
}
