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
        if ["integrations", "\"auto\"", "'auto'", "\\"].iter().all(|sign| !text.contains(sign)) {
            return Ok(Self { policy: text.to_owned(), detects_presets: false });
        }
        let document = Document::parse(name, text)?;
        let mut detects_presets = false;
        let policy = document.text_of(|key, value| match key {
            "integrations" => false,
            "presets" if value.as_str() == Some("auto") => {
                detects_presets = true;
                false
            }
            _ => true,
        });
        Ok(Self { policy, detects_presets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, bool) {
        let file = UserFile::read("config.toml", text).unwrap();
        (file.policy, file.detects_presets)
    }

    #[test]
    fn services_outside_are_no_policy() {
        let text = "presets = [\"rust\"]\nintegrations.linear.token = \"a\"\n[integrations.vercel]\ntoken = \"b\"\n\
                    [gate]\nenabled = true\n[[ integrations . webhook ]]\nurl = \"c\"\n[integrations_of_mine]\nx = 1\n";
        assert_eq!(
            read(text).0,
            "presets = [\"rust\"]\n\n\n\n[gate]\nenabled = true\n\n\n[integrations_of_mine]\nx = 1\n"
        );
    }

    #[test]
    fn detection_is_asked_for_in_the_users_own_words() {
        for text in [
            "presets = \"auto\"",
            "presets = \"auto\" # whatever there is",
            "\"presets\" = 'auto'",
            "'presets'=\"\"\"auto\"\"\"",
            "\"pre\\u0073ets\" = \"aut\\u006f\"",
        ] {
            assert_eq!(
                read(&format!("{text}\n[gate]\nx = 1\n")),
                ("\n[gate]\nx = 1\n".to_owned(), true),
                "{text}"
            );
        }
        for text in ["presets = [\"rust\"]\n", "presets = [\"auto\"]\n", "[gate]\npresets = \"auto\"\n"] {
            assert_eq!(read(text), (text.to_owned(), false), "{text}");
        }
    }

    #[test]
    fn a_broken_file_is_named_with_its_line_and_not_quoted() {
        for text in [
            "\n[integrations.linear]\ntoken = very_secret\n",
            "\n[integrations.linear]\ntoken = \"very_secret\n",
        ] {
            let said = UserFile::read("config.toml", text).unwrap_err().to_string();
            assert!(said.starts_with("config.toml:3:"), "{said}");
            assert_eq!(said.find("secret"), None, "{said}");
        }
    }
}
