//! Codex's `config.toml`, which can hold hooks as well as `hooks.json`.

use serde_json::Value;
use transcript::Agent;

use crate::registration::OwnCall;
use crate::registration::hand_written::{HandWritten, HandWrittenHooks};
use crate::registration::settings::OwnEntry;

pub(super) const HAND_WRITTEN: HandWrittenHooks =
    HandWrittenHooks { file: "config.toml", read, switch: "features.hooks" };

/// Fails where the text is not TOML; Codex does not start then.
fn read(text: &str) -> Result<HandWritten, toml::de::Error> {
    let config: Value = toml::from_str(text)?;
    let hooks = config.get("hooks").and_then(Value::as_object);
    let mut read = HandWritten {
        is_switched_off: config.pointer("/features/hooks") == Some(&Value::Bool(false)),
        ..HandWritten::default()
    };
    // `hooks.state` is Codex's own record of trust, and no list.
    for (event, groups) in hooks.into_iter().flatten() {
        for group in groups.as_array().into_iter().flatten() {
            let handlers = group.get("hooks").and_then(Value::as_array).into_iter().flatten();
            for handler in handlers {
                read.has_hooks = true;
                let call = OwnCall::of_handler(Agent::Codex, handler);
                read.found.extend(call.map(|call| OwnEntry { event: event.clone(), call }));
            }
        }
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_written_by_hand_are_found() {
        let text = "model = \"x\"\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\n\
                    command = \"/a/checkstone hook codex\"\ntimeout = 20\n\
                    [hooks.state.\"/x:stop:0:0\"]\ntrusted_hash = \"sha256:0\"\n";
        let config = read(text).unwrap();
        assert_eq!((config.found.len(), config.has_hooks, config.is_switched_off), (1, true, false));
        assert_eq!(config.found[0].event, "Stop");
        let config = read("[features]\nhooks = false\n").unwrap();
        assert_eq!((config.found.len(), config.has_hooks, config.is_switched_off), (0, false, true));
        assert!(read("[hooks").is_err());
        assert_eq!(read("hooks = 1\n").unwrap(), HandWritten::default());
    }
}
