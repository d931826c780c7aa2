//! The summary of a GitHub job: a page of Markdown that every step of the job may add to. What comes from outside stands in HTML,
//! in which nothing is Markdown.

use std::io::Write as _;
use std::path::Path;

use text::{counted, html_text};

use super::{CiOutput, RECORDS};
use crate::error::CommandError;

/// The page may have a megabyte in all.
const MOST_ROWS: usize = 500;

pub(super) fn append(path: &Path, output: &CiOutput<'_>) -> Result<(), CommandError> {
    let mut file = fs_err::OpenOptions::new().create(true).append(true).open(path)?;
    Ok(file.write_all(page(output).as_bytes())?)
}

fn page(output: &CiOutput<'_>) -> String {
    let (answer, what) = output.headline();
    let mark = if output.proven { "✅" } else { "❌" };
    let mut page = format!("### checkstone: {mark} {answer}\n\n<p>{}</p>\n\n", code(&what));
    if !output.missing.is_empty() {
        page.push_str("<table>\n<tr><th>file</th><th>action</th><th>to do</th></tr>\n");
        for missing in output.missing.iter().take(MOST_ROWS) {
            page.push_str(&format!(
                "<tr><td><code>{}</code></td><td>{}</td><td>{}</td></tr>\n",
                line(&missing.path),
                line(&missing.action),
                code(&missing.say)
            ));
        }
        page.push_str("</table>\n\n");
        if output.missing.len() > MOST_ROWS {
            page.push_str(&format!("… and {}\n\n", counted(output.missing.len() - MOST_ROWS, "more file")));
        }
    }
    let proofs = output.proof_lines();
    if !proofs.is_empty() {
        page.push_str("<ul>\n");
        for proof in proofs.iter().take(MOST_ROWS) {
            page.push_str(&format!("<li>{}</li>\n", code(proof)));
        }
        page.push_str("</ul>\n\n");
    }
    let records = output.uses_attestations().then(|| RECORDS.to_owned());
    for remark in [output.next_step(), output.policy_remark(), records].into_iter().flatten() {
        page.push_str(&format!("<p>{}</p>\n\n", code(&remark)));
    }
    page
}

/// One line of HTML: an empty one would end the part in which nothing is Markdown.
fn line(text: &str) -> String {
    html_text(&transcript::visible(text))
}

/// The same, with what stands in backticks as code.
fn code(text: &str) -> String {
    let mut shown = String::new();
    for (index, part) in line(text).split('`').enumerate() {
        shown.push_str(&if index % 2 == 1 { format!("<code>{part}</code>") } else { part.to_owned() });
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_from_outside_is_markup() {
        assert_eq!(code("Run `a<b>` and\n\n# x"), "Run <code>a&lt;b&gt;</code> and⏎⏎# x");
    }
}
