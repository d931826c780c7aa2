//! The user's own configuration, `config.toml`: a policy for every repository, and beside it services outside with their
//! tokens, and what agents are offered. A verdict is recorded with the policy's part alone.

use settings::{Document, Problems};

/// Tables of the file that are no part of a policy.
const USERS_OWN: [&str; 5] = ["cluster", "integrations", "mcp", "storage", TEAM];

/// The table that says what a team is told.
const TEAM: &str = "team";

/// The part of the file that is a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserFile {
    /// Every key is where it is in the file, so that a mistake in it is found there.
    pub policy: String,
    /// `presets = "auto"`: the presets that a repository's files ask for.
    pub detects_presets: bool,
    /// There is a table about a team, so that what is recorded may have to be sent.
    pub has_team: bool,
}

impl UserFile {
    /// Reads the text; `name` is how the file is called in messages.
    pub fn read(name: &str, text: &str) -> Result<Self, Problems> {
        // Whoever reads the policy reads the whole of it; only what is no policy must be found before.
        let signs = ["\"auto\"", "'auto'", "\\"];
        if signs.into_iter().chain(USERS_OWN).all(|sign| !text.contains(sign)) {
            return Ok(Self { policy: text.to_owned(), ..Self::default() });
        }
        let document = Document::parse(name, text)?;
        let mut detects_presets = false;
        let policy = document.text_of(|key, value| match key {
            _ if USERS_OWN.contains(&key) => false,
            "presets" if value.as_str() == Some("auto") => {
                detects_presets = true;
                false
            }
            _ => true,
        });
        let has_team = document.root().contains_key(TEAM);
        Ok(Self { policy, detects_presets, has_team })
    }
}
