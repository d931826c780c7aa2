//! The same as SARIF 2.1.0, which code scanning shows beside the lines of a pull request.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::CiOutput;
use crate::error::CommandError;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

pub(super) fn report(output: &CiOutput<'_>) -> Result<String, CommandError> {
    let says: BTreeMap<&str, &str> =
        output.missing.iter().map(|missing| (missing.action.as_str(), missing.say.as_str())).collect();
    // GitHub's code scanning requires all of these.
    let rule = |(action, say): (&&str, &&str)| {
        json!({
            "id": action,
            "shortDescription": {"text": say},
            "fullDescription": {"text": format!("The policy requires the action `{action}` for this file, and no run has proven its content.")},
            "help": {"text": format!("{say}: in this job with `checkstone prove -- COMMAND`, or on your own machine, followed by `checkstone attest --push`.")},
        })
    };
    let rules: Vec<Value> = says.iter().map(rule).collect();
    let results: Vec<Value> = output
        .missing
        .iter()
        .map(|missing| {
            json!({
                "ruleId": missing.action,
                "level": "error",
                "message": {"text": format!("No run has proven this content. {}", missing.say)},
                "locations": [{"physicalLocation": {
                    "artifactLocation": {"uri": address(&missing.path), "uriBaseId": "%SRCROOT%"},
                    "region": {"startLine": 1},
                }}],
            })
        })
        .collect();
    let driver = json!({"name": "checkstone", "version": env!("CARGO_PKG_VERSION"), "rules": rules});
    let report = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": driver},
            "results": results,
        }],
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&report)?))
}

/// A path as the part of an address.
fn address(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    path.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_an_address() {
        assert_eq!(address("src/a b#1/ü.rs"), "src/a%20b%231/%C3%BC.rs");
    }
}
