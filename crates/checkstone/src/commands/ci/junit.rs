//! The same as JUnit's XML, which GitLab and others show as test results: one case for each file and action.

use super::CiOutput;

pub(super) fn report(output: &CiOutput<'_>) -> String {
    let mut cases: Vec<(&str, &str, Option<&str>)> = Vec::new();
    cases.extend(output.proofs.iter().map(|proof| (proof.action.as_str(), proof.path.as_str(), None)));
    let missing = output.missing.iter();
    cases.extend(missing.map(|one| (one.action.as_str(), one.path.as_str(), Some(one.say.as_str()))));
    cases.sort_unstable();
    let counts = format!("tests=\"{}\" failures=\"{}\"", cases.len(), output.missing.len());
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {counts}>\n<testsuite name=\"checkstone\" {counts}>\n"
    );
    for (action, path, say) in cases {
        let (action, path) = (attribute(action), attribute(path));
        match say {
            None => text
                .push_str(&format!("<testcase classname=\"{action}\" name=\"{path}\" file=\"{path}\"/>\n")),
            Some(say) => text.push_str(&format!(
                "<testcase classname=\"{action}\" name=\"{path}\" file=\"{path}\">\
                 <failure type=\"unproven\" message=\"No run has proven this content. {}\"/></testcase>\n",
                attribute(say)
            )),
        }
    }
    text.push_str("</testsuite>\n</testsuites>\n");
    text
}

/// XML knows most control characters in no form at all.
fn attribute(text: &str) -> String {
    let is_allowed = |letter: char| !matches!(letter, '\u{fffe}' | '\u{ffff}');
    text::html_text(&transcript::visible(text)).chars().filter(|letter| is_allowed(*letter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_attribute() {
        assert_eq!(attribute("a\"b<c>&\u{1b}\u{ffff}"), "a&quot;b&lt;c&gt;&amp;␛");
    }
}
