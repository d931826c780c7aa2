//! A package for Debian and what is made from it: the program, its manual pages and the completions of the shells.

use super::platform::Platform;
use super::{DESCRIPTION, GlibcVersion, ProgramDocuments, VERSION};
use crate::archive::{self, FileTree, Squeeze};
use crate::root;

/// Who is named as responsible; change it before the first release (docs/releasing.md).
const MAINTAINER: &str = "checkstone <checkstone@localhost>";

/// `None` for platforms that Debian does not have.
pub(crate) fn file(platform: &Platform) -> Option<String> {
    Some(format!("checkstone_{VERSION}_{}.deb", platform.debian?))
}

/// `needed_glibc`: the oldest C library that the program runs with; none where it needs none.
pub(crate) fn make(
    platform: &Platform,
    program: &[u8],
    needed_glibc: Option<GlibcVersion>,
    documents: &ProgramDocuments,
    squeeze: Squeeze,
) -> Result<Vec<u8>, String> {
    let mut tree = FileTree::default();
    tree.add_program("usr/bin/checkstone", program);
    for (name, page) in &documents.manual_pages {
        tree.add(format!("usr/share/man/man1/{name}.gz"), archive::gzip(page.as_bytes(), Squeeze::Best)?);
    }
    for (shell, script) in &documents.completions {
        let place = match *shell {
            "bash" => "bash-completion/completions/checkstone",
            "zsh" => "zsh/vendor-completions/_checkstone",
            _ => "fish/vendor_completions.d/checkstone.fish",
        };
        tree.add(format!("usr/share/{place}"), script.as_bytes());
    }
    let read = |file: &str| fs_err::read(root().join(file)).map_err(|error| error.to_string());
    let changes = archive::gzip(&read("CHANGELOG.md")?, Squeeze::Best)?;
    tree.add("usr/share/doc/checkstone/changelog.gz", changes);
    tree.add("usr/share/doc/checkstone/copyright", copyright(&read("LICENSE-MIT")?));
    let libc = needed_glibc.map(|version| format!(", libc6 (>= {version})")).unwrap_or_default();
    let control = format!(
        "Package: checkstone\nVersion: {VERSION}\nArchitecture: {}\nMaintainer: {MAINTAINER}\n\
         Installed-Size: {}\nDepends: git (>= 1:2.31){libc}\nSection: devel\nPriority: optional\n\
         Description: {}\n An agent that says it is done without having run the tests is held once, with the\n step to take. \
         No model is called, and nothing leaves the machine.\n",
        platform.debian.unwrap_or_default(),
        tree.size().div_ceil(1024),
        DESCRIPTION.trim_end_matches('.'),
    );
    let mut about = FileTree::default();
    about.add("control", control);
    Ok(archive::ar(&[
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", about.tar_gz("./", Squeeze::Best)?),
        ("data.tar.gz", tree.tar_gz("./", squeeze)?),
    ]))
}

fn copyright(mit: &[u8]) -> String {
    format!(
        "Licensed under the Apache License 2.0 (see /usr/share/common-licenses/Apache-2.0) or the MIT licence, as you like.\n\n{}",
        String::from_utf8_lossy(mit)
    )
}
