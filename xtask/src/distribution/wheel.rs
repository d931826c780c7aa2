//! A wheel for PyPI: the program as a script, and no Python code.

use sha2::{Digest as _, Sha256};

use super::{BuiltProgram, DESCRIPTION, GlibcVersion, LICENSE, VERSION, template};
use crate::archive::{FileTree, Squeeze};

pub(crate) fn file(program: &BuiltProgram) -> String {
    format!("checkstone-{VERSION}-py3-none-{}.whl", tags(program).join("."))
}

/// The platforms that the wheel is for. A program that needs a newer glibc than usual promises no more than that.
fn tags(program: &BuiltProgram) -> Vec<String> {
    let usual = program.platform.wheel;
    match program.needed_glibc {
        Some(needed) if needed > GlibcVersion::OF_MANYLINUX_2014 => {
            let newer = format!("manylinux_2_{}_", needed.minor());
            usual.iter().take(1).map(|tag| tag.replace("manylinux_2_17_", &newer)).collect()
        }
        _ => usual.iter().map(|tag| (*tag).to_owned()).collect(),
    }
}

pub(crate) fn make(built: &BuiltProgram, program: &[u8], squeeze: Squeeze) -> Result<Vec<u8>, String> {
    let information = format!("checkstone-{VERSION}.dist-info");
    let mut tree = FileTree::default();
    tree.add_program(format!("checkstone-{VERSION}.data/scripts/checkstone"), program);
    super::add_licenses(&mut tree, &format!("{information}/licenses/"))?;
    tree.add(
        format!("{information}/METADATA"),
        format!(
            "Metadata-Version: 2.4\nName: checkstone\nVersion: {VERSION}\nSummary: {DESCRIPTION}\n\
             License-Expression: {LICENSE}\nLicense-File: LICENSE-APACHE\nLicense-File: LICENSE-MIT\n\
             Requires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n{}",
            template("pypi/README.md")?
        ),
    );
    let tags: String = tags(built).iter().map(|tag| format!("Tag: py3-none-{tag}\n")).collect();
    tree.add(
        format!("{information}/WHEEL"),
        format!("Wheel-Version: 1.0\nGenerator: checkstone-xtask\nRoot-Is-Purelib: false\n{tags}"),
    );
    let mut record: String = tree.files().map(|(path, bytes)| recorded(path, bytes)).collect();
    record.push_str(&format!("{information}/RECORD,,\n"));
    tree.add(format!("{information}/RECORD"), record);
    tree.zip(squeeze)
}

/// A line of `RECORD`.
fn recorded(path: &str, bytes: &[u8]) -> String {
    let hash = text::base64(&Sha256::digest(bytes)).replace('+', "-").replace('/', "_");
    format!("{path},sha256={},{}\n", hash.trim_end_matches('='), bytes.len())
}
