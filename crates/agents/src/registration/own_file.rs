//! A registration that is a whole file of ours: a plugin in the client's own language, which calls us. Pure, as the edits of settings
//! are: a text in, a text out.

use transcript::Agent;

use super::own_call::OwnCall;
use super::settings::{OwnEntry, SettingsError};
use super::{Registration, events};
use crate::host::{RegistrationFile, host};

/// What stands in the text for the path of the program.
const PLACE: &str = "\"@PROGRAM@\"";

/// The text of the file before the path of the program, and behind it.
#[derive(Clone, Copy)]
pub(super) struct OwnFile {
    before: &'static str,
    behind: &'static str,
}

impl OwnFile {
    /// `None` if the client has settings.
    pub(super) fn of(agent: Agent) -> Option<Self> {
        let RegistrationFile::Own(text) = host(agent).registration.file else { return None };
        let (before, behind) = text.split_once(PLACE).unwrap_or((text, ""));
        Some(Self { before, behind })
    }

    pub(super) fn text(self, program: &str) -> String {
        // A string is written as in JSON.
        format!("{}{}{}", self.before, serde_json::Value::from(program), self.behind)
    }

    /// The program that a text of ours calls; also one that an older version wrote.
    fn program(self, text: &str) -> Option<String> {
        let is_ours = text.lines().next().is_some_and(|line| self.before.lines().next() == Some(line));
        let line = self.before.rsplit('\n').next().unwrap_or_default();
        let mut values = text.lines().filter_map(|written| written.strip_prefix(line));
        let value = values.next().filter(|_| is_ours)?;
        serde_json::from_str(value.trim_end().trim_end_matches(';')).ok()
    }

    /// Our entries: all of them call the same program.
    pub(super) fn find(self, agent: Agent, text: &str) -> Vec<OwnEntry> {
        let Some(program) = self.program(text) else { return Vec::new() };
        let call = OwnCall { is_as_written: text == self.text(&program), program };
        events(agent)
            .iter()
            .map(|event| OwnEntry { event: (*event).to_owned(), call: call.clone() })
            .collect()
    }

    /// The file as this version writes it. A program that is there stays the one that is called.
    pub(super) fn add(
        self,
        text: &str,
        registration: &Registration,
        gone: &[String],
    ) -> Result<String, SettingsError> {
        let present = registration.program();
        match self.program(text) {
            Some(program) if gone.contains(&program) => Ok(self.text(present)),
            Some(program) => Ok(self.text(&program)),
            None if text.trim().is_empty() => Ok(self.text(present)),
            None => Err(SettingsError::NotOurs),
        }
    }

    /// Nothing is left where the file is ours.
    pub(super) fn remove(self, text: &str) -> String {
        if self.program(text).is_some() { String::new() } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registration::{Program, settings};

    /// The clients that have a file of ours.
    fn with_own_file() -> impl Iterator<Item = Agent> {
        Agent::ALL.into_iter().filter(|agent| OwnFile::of(*agent).is_some())
    }

    #[test]
    fn the_file_is_known_by_its_first_line_and_calls_what_it_names() {
        for agent in with_own_file() {
            let odd = "/it's \"a\" \\ ü/checkstone";
            let text = settings::add("", &Registration::new(agent, Program::At(odd)), &[]).unwrap();
            let found = settings::find(agent, &text).unwrap();
            assert_eq!(found.len(), events(agent).len());
            assert!(found.iter().all(|own| own.call.program == odd && own.call.is_as_written));
            // A second time, and with another program: what is there stays.
            let again = settings::add(&text, &Registration::new(agent, Program::At("/b/checkstone")), &[]);
            assert_eq!(again.unwrap(), text);
            let gone = [odd.to_owned()];
            let mended = settings::add(&text, &Registration::new(agent, Program::At("/b/checkstone")), &gone);
            assert_eq!(settings::find(agent, &mended.unwrap()).unwrap()[0].call.program, "/b/checkstone");
            assert_eq!(settings::remove(agent, &text, None).unwrap(), "");
            assert!(settings::is_empty(agent, ""));
        }
    }

    #[test]
    fn what_an_older_version_wrote_is_ours_and_is_brought_up_to_date() {
        for agent in with_own_file() {
            let registration = Registration::new(agent, Program::At("/a/checkstone"));
            let text = settings::add("", &registration, &[]).unwrap();
            let older = format!("{text}// something else\n");
            let found = settings::find(agent, &older).unwrap();
            assert!(found.iter().all(|own| !own.call.is_as_written && own.call.program == "/a/checkstone"));
            assert_eq!(settings::add(&older, &registration, &[]).unwrap(), text);
        }
    }

    #[test]
    fn a_persons_file_in_its_place_is_left_alone() {
        for agent in with_own_file() {
            let registration = Registration::new(agent, Program::At("/a/checkstone"));
            let theirs = "export const Mine = async () => ({})\n";
            assert!(settings::find(agent, theirs).unwrap().is_empty());
            assert_eq!(
                settings::add(theirs, &registration, &[]).unwrap_err().to_string(),
                "it is not a file of ours"
            );
            assert_eq!(settings::remove(agent, theirs, None).unwrap(), theirs);
            assert!(!settings::is_empty(agent, theirs));
        }
    }
}
