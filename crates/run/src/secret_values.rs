//! Values that stay out of a run's record: secrets among the environment variables of its stages, whether the plan sets them or
//! they are inherited. The recorded plan has a placeholder in their place, and so has whatever stages and errors say.

use std::ffi::OsString;

use settings::{Document, Value};

use crate::event::What;

/// What the recorded plan has in the place of a secret. Whoever runs that plan gets the value from the environment.
pub(crate) const WITHHELD: &str = "(withheld by checkstone)";

/// Shorter ones are words that occur anywhere; in the plan they are known by their place.
const SHORTEST: usize = 6;

#[derive(Clone, Debug, Default)]
pub(crate) struct SecretValues {
    /// The longest first, so that one that holds another is replaced whole.
    values: Vec<String>,
}

/// Whether something is withheld from the plan that no environment can give back: it stands elsewhere than as a variable.
pub(crate) fn has_gaps(plan: &str) -> bool {
    let Ok(document) = Document::parse("plan", plan) else { return false };
    let all = document.root().get("stage").into_iter().flat_map(variables);
    let given = all.filter(|(_, value)| value.get_ref().as_str() == Some(WITHHELD)).count();
    plan.matches(WITHHELD).count() > given
}

impl SecretValues {
    /// Those of the plan's text and of the environment that stages inherit; and the text without them.
    pub(crate) fn of(
        plan: &str,
        inherited: &[(OsString, OsString)],
        is_secret: fn(&str, &str) -> bool,
    ) -> (Self, String) {
        let mut values: Vec<String> = inherited
            .iter()
            .filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)))
            .filter(|(name, value)| is_secret(name, value))
            .map(|(_, value)| value.to_owned())
            .collect();
        let mut withheld = plan.to_owned();
        // A plan that cannot be read is not run.
        if let Ok(document) = Document::parse("plan", plan) {
            let mut places = Vec::new();
            for (name, value) in document.root().get("stage").into_iter().flat_map(variables) {
                if let Some(text) = value.get_ref().as_str().filter(|text| is_secret(name, text)) {
                    values.push(text.to_owned());
                    places.push(value.span());
                }
            }
            places.sort_unstable_by_key(|place| std::cmp::Reverse(place.start));
            // Without the mark at its beginning, which the document does not count.
            let mut text = plan.trim_start_matches('\u{feff}').to_owned();
            for place in places {
                text.replace_range(place, &format!("\"{WITHHELD}\""));
            }
            withheld = text;
        }
        values.retain(|value| value.len() >= SHORTEST && value != WITHHELD);
        values.sort_unstable_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        values.dedup();
        let secrets = Self { values };
        let withheld = secrets.without(withheld);
        (secrets, withheld)
    }

    fn without(&self, text: String) -> String {
        self.values.iter().fold(text, |text, value| match text.contains(value.as_str()) {
            true => text.replace(value.as_str(), WITHHELD),
            false => text,
        })
    }

    /// Texts as they may be recorded.
    pub(crate) fn without_all(&self, texts: &[String]) -> Vec<String> {
        texts.iter().map(|text| self.without(text.clone())).collect()
    }

    /// An event as it may be recorded.
    pub(crate) fn withheld_from(&self, mut what: What) -> What {
        if self.values.is_empty() {
            return what;
        }
        if let What::FanOut { instances, .. } = &mut what {
            for instance in instances {
                instance.parameters = self.without(std::mem::take(&mut instance.parameters));
            }
        }
        let text = match &mut what {
            What::StageState { reason, .. } | What::RunState { reason, .. } => reason.as_mut(),
            What::Marker { marker, .. } => Some(marker),
            What::Warning { text, .. } => Some(text),
            _ => None,
        };
        if let Some(text) = text {
            *text = self.without(std::mem::take(text));
        }
        what
    }
}

/// The environment variables that the stages of a plan set.
fn variables<'a, 'b>(stages: &'a Value<'b>) -> impl Iterator<Item = (&'a str, &'a Value<'b>)> {
    let stages = stages.get_ref().as_array().into_iter().flat_map(|stages| stages.iter());
    let environments = stages.filter_map(|stage| stage.get_ref().as_table()?.get("environment"));
    environments
        .filter_map(|environment| environment.get_ref().as_table())
        .flat_map(|environment| environment.iter().map(|(name, value)| (name.get_ref().as_ref(), value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_secret(name: &str, _: &str) -> bool {
        name.ends_with("TOKEN")
    }

    #[test]
    fn secrets_are_withheld_by_their_place_and_by_their_value() {
        let plan = "title = \"t\"\n[[stage]]\nenvironment = { A_TOKEN = \"abc\", COLOUR = \"red\" } # abc\n\
                    [[stage]]\n[stage.environment]\nB_TOKEN = '''plain-secret'''\ncommand = \"use plain-secret\"\n";
        let inherited = [("C_TOKEN".into(), "inherited-one".into()), ("HOME".into(), "/home/me".into())];
        let (secrets, withheld) = SecretValues::of(plan, &inherited, is_secret);
        insta::assert_snapshot!(withheld, @r#"
        title = "t"
        [[stage]]
        environment = { A_TOKEN = "(withheld by checkstone)", COLOUR = "red" } # abc
        [[stage]]
        [stage.environment]
        B_TOKEN = "(withheld by checkstone)"
        command = "use (withheld by checkstone)"
        "#);
        let text = "abc /home/me inherited-one plain-secret".to_owned();
        let said = secrets.withheld_from(What::Warning { stage_id: None, text });
        let text = format!("abc /home/me {WITHHELD} {WITHHELD}");
        assert_eq!(said, What::Warning { stage_id: None, text });
        // The command has one too, which no variable gives back.
        assert_eq!(
            [&withheld, &withheld.replace(&format!("use {WITHHELD}"), "use")].map(|plan| has_gaps(plan)),
            [true, false]
        );
        // What was withheld already stays as it is.
        assert_eq!(SecretValues::of(&withheld, &[], is_secret).1, withheld);
    }
}
