//! What is handed out, as files in one folder: for each platform an archive, a package for npm, a wheel, a Debian package and a bill of
//! materials; then what names those: the npm package that people install, a Homebrew formula, a script for `curl | sh`,
//! and the checksums of all. The same program gives the same bytes.

mod bill_of_materials;
mod debian_package;
mod glibc_version;
mod npm_package;
pub(crate) mod platform;
mod wheel;

use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest as _, Sha256};

use crate::archive::{FileTree, Squeeze};
use crate::process;
use crate::root;
pub(crate) use glibc_version::GlibcVersion;
use platform::{PLATFORMS, Platform};

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
const LICENSE: &str = "MIT OR Apache-2.0";
const DESCRIPTION: &str = "Hold points for AI coding agents.";
const SUMS: &str = "SHA256SUMS";

/// Where releases can be downloaded unless somebody says otherwise; docs/releasing.md says who does.
pub(crate) const DOWNLOADS: &str = "https://github.com/OWNER/checkstone/releases/download";

/// One program to be packed.
pub(crate) struct BuiltProgram {
    pub(crate) platform: &'static Platform,
    pub(crate) path: PathBuf,
    /// The oldest glibc that it runs with; none where it is linked statically, or without glibc.
    pub(crate) needed_glibc: Option<GlibcVersion>,
}

impl BuiltProgram {
    pub(crate) fn read(platform: &'static Platform, path: &Path) -> Result<Self, String> {
        let bytes = fs_err::read(path).map_err(|error| error.to_string())?;
        Ok(Self { platform, path: path.to_owned(), needed_glibc: GlibcVersion::needed_by(&bytes) })
    }
}

/// What a program writes about itself.
pub(crate) struct ProgramDocuments {
    /// By file name.
    manual_pages: Vec<(String, String)>,
    /// By the name of the shell.
    completions: Vec<(&'static str, String)>,
}

impl ProgramDocuments {
    /// Written by a program that runs on this machine.
    pub(crate) fn written_by(program: &Path) -> Result<Self, String> {
        let mut completions = Vec::new();
        for shell in ["bash", "zsh", "fish"] {
            completions.push((shell, process::output(Command::new(program).args(["completions", shell]))?));
        }
        let failed = |error: std::io::Error| error.to_string();
        let folder = tempfile::tempdir().map_err(failed)?;
        process::output(Command::new(program).arg("man").arg(folder.path()))?;
        let mut manual_pages = Vec::new();
        for page in fs_err::read_dir(folder.path()).map_err(failed)? {
            let page = page.map_err(failed)?;
            let text = fs_err::read_to_string(page.path()).map_err(failed)?;
            manual_pages.push((page.file_name().to_string_lossy().into_owned(), text));
        }
        manual_pages.sort();
        Ok(Self { manual_pages, completions })
    }
}

/// The folder that the files are written into.
pub(crate) struct Distribution {
    pub(crate) folder: PathBuf,
    pub(crate) squeeze: Squeeze,
}

impl Distribution {
    /// Packs one program in every form; where the files are.
    pub(crate) fn pack(
        &self,
        program: &BuiltProgram,
        documents: &ProgramDocuments,
    ) -> Result<Vec<PathBuf>, String> {
        let platform = program.platform;
        let bytes = fs_err::read(&program.path).map_err(|error| error.to_string())?;
        let squeeze = self.squeeze;
        let mut made = vec![
            self.write(&archive_file(platform), &archive(platform, &bytes, documents, squeeze)?)?,
            self.write(
                &npm_package::file_of_platform(platform),
                &npm_package::of_platform(platform, &bytes, squeeze)?,
            )?,
            self.write(&wheel::file(program), &wheel::make(program, &bytes, squeeze)?)?,
            self.write(
                &bill_of_materials::file(platform.target),
                &bill_of_materials::make(platform.target)?,
            )?,
        ];
        if let Some(file) = debian_package::file(platform) {
            let package = debian_package::make(platform, &bytes, program.needed_glibc, documents, squeeze)?;
            made.push(self.write(&file, &package)?);
        }
        Ok(made)
    }

    /// Removes what an earlier packing of this version left here: a program that needs another glibc gives a wheel of another name.
    pub(crate) fn clear(&self) -> Result<(), String> {
        if !self.folder.is_dir() {
            return Ok(());
        }
        for name in self.names()? {
            fs_err::remove_file(self.folder.join(name)).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// A folder of the disk as an archive of the same name.
    pub(crate) fn pack_folder(&self, folder: &Path) -> Result<PathBuf, String> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let archive = FileTree::read(folder)?.tar_gz(&format!("{name}/"), self.squeeze)?;
        self.write(&format!("{name}-{}.tar.gz", std::env::consts::ARCH), &archive)
    }

    /// What names the packages that are in the folder, wherever they were made: the npm package, the formula, the script and
    /// the checksums. `downloads` is the address that the folder will be found at.
    pub(crate) fn index(&self, downloads: &str) -> Result<Vec<PathBuf>, String> {
        let is_there = |file: &str| self.folder.join(file).is_file();
        let archives: Vec<&Platform> =
            PLATFORMS.iter().filter(|platform| is_there(&archive_file(platform))).collect();
        let npm: Vec<&Platform> =
            PLATFORMS.iter().filter(|platform| is_there(&npm_package::file_of_platform(platform))).collect();
        if archives.is_empty() || npm.is_empty() {
            return Err(format!("`{}` has no packages of version {VERSION}", self.folder.display()));
        }
        let mut sums = Vec::new();
        for platform in archives {
            sums.push((platform, sum(&self.folder.join(archive_file(platform)))?));
        }
        let mut made = vec![
            self.write(&npm_package::file_of_all(), &npm_package::of_all(&npm)?)?,
            self.write("checkstone.rb", formula(downloads, &sums)?.as_bytes())?,
            self.write("install.sh", install_script(downloads, &sums)?.as_bytes())?,
        ];
        let mut lines = String::new();
        for name in self.names()? {
            lines.push_str(&format!("{}  {name}\n", sum(&self.folder.join(&name))?));
        }
        made.push(self.write(SUMS, lines.as_bytes())?);
        Ok(made)
    }

    /// The files of this version, sorted. What an earlier version left behind is not handed out again.
    fn names(&self) -> Result<Vec<String>, String> {
        let failed = |error: std::io::Error| error.to_string();
        let mut names = Vec::new();
        for entry in fs_err::read_dir(&self.folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_package = name.contains(VERSION)
                && [".tar.gz", ".tgz", ".whl", ".deb", ".json"].iter().any(|end| name.ends_with(end));
            if entry.file_type().map_err(failed)?.is_file()
                && (is_package || name == "install.sh" || name == "checkstone.rb")
            {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, String> {
        let path = self.folder.join(name);
        fs_err::create_dir_all(&self.folder).map_err(|error| error.to_string())?;
        fs_err::write(&path, bytes).map_err(|error| error.to_string())?;
        Ok(path)
    }
}

fn archive_file(platform: &Platform) -> String {
    format!("checkstone-{VERSION}-{}.tar.gz", platform.target)
}

/// The program alone, with its manual pages and the completions of the shells.
fn archive(
    platform: &Platform,
    program: &[u8],
    documents: &ProgramDocuments,
    squeeze: Squeeze,
) -> Result<Vec<u8>, String> {
    let mut tree = FileTree::default();
    tree.add_program("bin/checkstone", program);
    for file in ["README.md", "CHANGELOG.md"] {
        tree.add(file, fs_err::read(root().join(file)).map_err(|error| error.to_string())?);
    }
    add_licenses(&mut tree, "")?;
    for (shell, script) in &documents.completions {
        let file = match *shell {
            "bash" => "checkstone.bash",
            "zsh" => "_checkstone",
            _ => "checkstone.fish",
        };
        tree.add(format!("completions/{file}"), script.as_bytes());
    }
    for (name, page) in &documents.manual_pages {
        tree.add(format!("man/man1/{name}"), page.as_bytes());
    }
    tree.tar_gz(&format!("checkstone-{VERSION}-{}/", platform.target), squeeze)
}

fn add_licenses(tree: &mut FileTree, prefix: &str) -> Result<(), String> {
    for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let text = fs_err::read(root().join(file)).map_err(|error| error.to_string())?;
        tree.add(format!("{prefix}{file}"), text);
    }
    Ok(())
}

/// A file of `packages/`, with the version filled in.
fn template(file: &str) -> Result<String, String> {
    let text = fs_err::read_to_string(root().join("packages").join(file));
    text.map(|text| text.replace("{{version}}", VERSION)).map_err(|error| error.to_string())
}

/// Only what Homebrew runs on: macOS, and Linux with glibc.
fn formula(downloads: &str, sums: &[(&Platform, String)]) -> Result<String, String> {
    let mut blocks = String::new();
    for (os, name) in [("darwin", "macos"), ("linux", "linux")] {
        let of_os: Vec<_> =
            sums.iter().filter(|(platform, _)| platform.os == os && platform.libc != Some("musl")).collect();
        if of_os.is_empty() {
            continue;
        }
        blocks.push_str(&format!("  on_{name} do\n"));
        for (platform, sum) in of_os {
            let processor = if platform.processor == "x64" { "intel" } else { "arm" };
            let file = archive_file(platform);
            blocks.push_str(&format!(
                "    on_{processor} do\n      url \"{downloads}/v{VERSION}/{file}\"\n      sha256 \"{sum}\"\n    end\n"
            ));
        }
        blocks.push_str("  end\n\n");
    }
    let homepage = downloads.strip_suffix("/releases/download").unwrap_or(downloads);
    let text = template("homebrew/checkstone.rb")?;
    Ok(text.replace("{{homepage}}", homepage).replace("{{downloads}}\n", &blocks))
}

fn install_script(downloads: &str, sums: &[(&Platform, String)]) -> Result<String, String> {
    let lines: Vec<String> =
        sums.iter().map(|(platform, sum)| format!("    {}) echo {sum} ;;", platform.target)).collect();
    let text = template("install.sh")?;
    let downloads = format!("{downloads}/v{VERSION}");
    Ok(text.replace("{{downloads}}", &downloads).replace("{{sums}}", &lines.join("\n")))
}

fn sum(file: &Path) -> Result<String, String> {
    let bytes = fs_err::read(file).map_err(|error| error.to_string())?;
    Ok(text::hexadecimal(&Sha256::digest(&bytes)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test fails by panicking")]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Every file of a distribution with a made-up program, packed in a folder of its own.
    fn packed() -> BTreeMap<String, Vec<u8>> {
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join("program");
        fs_err::write(&program, "#!/bin/sh\n").unwrap();
        let distribution = Distribution { folder: place.path().join("dist"), squeeze: Squeeze::Best };
        let documents = ProgramDocuments {
            manual_pages: vec![("checkstone.1".to_owned(), ".TH checkstone 1\n".to_owned())],
            completions: vec![("bash", "complete\n".to_owned())],
        };
        let platform = Platform::of_target("x86_64-unknown-linux-gnu").unwrap();
        let built = BuiltProgram { platform, path: program, needed_glibc: None };
        distribution.pack(&built, &documents).unwrap();
        distribution.index(DOWNLOADS).unwrap();
        let files = fs_err::read_dir(&distribution.folder).unwrap().map(Result::unwrap);
        files
            .map(|file| (file.file_name().into_string().unwrap(), fs_err::read(file.path()).unwrap()))
            .collect()
    }

    #[test]
    fn the_same_program_gives_the_same_bytes() {
        let [first, second] = [packed(), packed()];
        assert_eq!(
            first.keys().map(|name| name.replace(VERSION, "VERSION")).collect::<Vec<_>>(),
            [
                "SHA256SUMS",
                "checkstone-VERSION-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
                "checkstone-VERSION-x86_64-unknown-linux-gnu.cdx.json",
                "checkstone-VERSION-x86_64-unknown-linux-gnu.tar.gz",
                "checkstone-npm-VERSION.tgz",
                "checkstone-npm-linux-x64-VERSION.tgz",
                "checkstone.rb",
                "checkstone_VERSION_amd64.deb",
                "install.sh",
            ]
        );
        for (name, bytes) in &first {
            assert!(second[name] == *bytes, "{name} differs");
        }
        let sums = String::from_utf8(first["SHA256SUMS"].clone()).unwrap();
        let names: Vec<&str> = sums.lines().map(|line| &line[66..]).collect();
        assert_eq!(names, first.keys().skip(1).map(String::as_str).collect::<Vec<_>>());
        let texts = ["checkstone.rb", "install.sh"].map(|name| String::from_utf8_lossy(&first[name]));
        assert!(texts.iter().all(|text| !text.contains("{{")), "{texts:?}");
    }

    /// What is only named is not promised: a folder without packages has no index.
    #[test]
    fn an_empty_folder_is_not_handed_out() {
        let place = tempfile::tempdir().unwrap();
        let distribution = Distribution { folder: place.path().to_owned(), squeeze: Squeeze::Fast };
        let refused = distribution.index(DOWNLOADS).unwrap_err();
        assert_eq!(refused, format!("`{}` has no packages of version {VERSION}", place.path().display()));
    }

    #[test]
    fn the_formula_names_each_machine_that_homebrew_runs_on() {
        let sums: Vec<_> = PLATFORMS.iter().map(|platform| (platform, platform.npm_name())).collect();
        let text = formula("https://example.org/checkstone/releases/download", &sums).unwrap();
        let text = text.replace(VERSION, "VERSION");
        let (_, blocks) = text.split_once("\"Apache-2.0\"]\n\n").unwrap();
        let (blocks, _) = blocks.split_once("  depends_on").unwrap();
        let block = |processor: &str, target: &str, sum: &str| {
            format!(
                "    on_{processor} do\n      url \"https://example.org/checkstone/releases/download/vVERSION/checkstone-VERSION-{target}.tar.gz\"\n      \
                 sha256 \"{sum}\"\n    end\n"
            )
        };
        let expected = format!(
            "  on_macos do\n{}{}  end\n\n  on_linux do\n{}{}  end\n\n",
            block("intel", "x86_64-apple-darwin", "darwin-x64"),
            block("arm", "aarch64-apple-darwin", "darwin-arm64"),
            block("intel", "x86_64-unknown-linux-gnu", "linux-x64"),
            block("arm", "aarch64-unknown-linux-gnu", "linux-arm64"),
        );
        assert_eq!(blocks, expected);
    }
}
