//! Annotations of a GitHub job: lines that its runner takes for commands and shows beside the files of the pull request.

use text::counted;

use super::CiOutput;
use crate::commands::verify::UnprovenOutput;
use crate::error::CommandError;

/// GitHub shows ten of a kind for each step; the last one counts the rest.
const MOST: usize = 10;

/// The text for people, in which the runner must not take a file's name for a command, and the annotations behind it.
pub(super) fn around(text: &str, output: &CiOutput<'_>) -> Result<String, CommandError> {
    let word = files::random_key()?;
    let mut all = format!("::stop-commands::{word}\n{text}::{word}::\n");
    let missing = &output.missing;
    let single = if missing.len() > MOST { MOST - 1 } else { missing.len() };
    for UnprovenOutput { path, action, say, .. } in missing.iter().take(single) {
        let text = format!("No run has proven this content. {say}");
        all.push_str(&format!(
            "::error file={},title={}::{}\n",
            property(path),
            property(&format!("checkstone: {action}")),
            escaped(&text)
        ));
    }
    if missing.len() > single {
        let more = counted(missing.len() - single, "more file");
        all.push_str(&format!("::error title=checkstone::{more} unproven; the job's summary lists them\n"));
    }
    if let Some(remark) = output.policy_remark() {
        all.push_str(&format!("::notice title=checkstone::{}\n", escaped(&remark)));
    }
    Ok(all)
}

/// As the runner reads the text behind a command.
fn escaped(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// As it reads a value between commas.
fn property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_inside_of_its_command() {
        assert_eq!(property("a,b:c%\n::error::x"), "a%2Cb%3Ac%25%0A%3A%3Aerror%3A%3Ax");
        assert_eq!(escaped("50 %\r\ndone: a, b"), "50 %25%0D%0Adone: a, b");
    }
}
