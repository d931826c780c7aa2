//! The user's own configuration, `config.toml`: a policy for every repository, and beside it services outside with their
//! tokens. A verdict is recorded with the policy's part alone.

use settings::{Document, Problems};

/// The part of the file that is a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserFile {
    /// Every key is where it is in the file, so that a mistake in it is found there.
    pub policy: String,
    /// `presets = "auto"`: the presets that a repository's files ask for.
    pub detects_presets: bool,
}

impl UserFile {
    /// Reads the text; `name` is how the file is called in messages.
    pub fn read(name: &str, text: &str) -> Result<Self, Problems> {
        // Whoever reads the policy reads the whole of it; only what is no policy must be found before.
        let others = ["integrations", "cluster", "storage", "\"auto\"", "'auto'", "\\"];
        if others.iter().all(|sign| !text.contains(sign)) {
            return Ok(Self { policy: text.to_owned(), detects_presets: false });
        }
        let document = Document::parse(name, text)?;
        let mut detects_presets = false;
        let policy = document.text_of(|key, value| match key {
            // For `workflow` and for `run`.
            "integrations" | "cluster" | "storage" => false,
            "presets" if value.as_str() == Some("auto") => {
                detects_presets = true;
                false
            }
            _ => true,
        });
        Ok(Self { policy, detects_presets })
    }
}
