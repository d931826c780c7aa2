//! What a repository's file is given by trust, key by key. The keys come from the rows by which the file is read, so that none can be
//! forgotten here: one without words of its own has those of its row.

use autosave::secrets::Allow;
use gate::policy::{Autosave, AutosaveMode, Include, NeedsTrust, Policy, Trust};
use settings::TableOfKeys;
use text::wrap;
use transcript::visible;

use crate::printer::DOUBTFUL;

/// A key that the user's own configuration does not set so.
#[derive(Debug)]
pub(super) struct GrantedKey {
    table: &'static str,
    name: &'static str,
    /// As it would be written.
    value: String,
    meaning: String,
}

impl GrantedKey {
    /// All of a policy that the user's own configuration, which is `users`, does not have.
    pub(super) fn all(policy: &Policy, users: Option<&Policy>) -> Vec<Self> {
        let mut keys =
            Self::of_table("snapshot", &policy.snapshot, users.map(|users| &users.snapshot), |_, name| {
                snapshot_meaning(name)
            });
        keys.extend(Self::of_table(
            "autosave",
            &policy.autosave,
            users.map(|users| &users.autosave),
            autosave_meaning,
        ));
        keys
    }

    fn of_table<T: TableOfKeys + Clone + Default>(
        table: &'static str,
        wanted: &NeedsTrust<T>,
        own: Option<&NeedsTrust<T>>,
        meaning: impl Fn(&T, &str) -> Option<String>,
    ) -> Vec<Self> {
        let given = |table: &NeedsTrust<T>| table.with(Trust::Given).cloned();
        let (wanted, own) = (given(wanted).unwrap_or_default(), own.and_then(given).unwrap_or_default());
        let set = wanted.set_otherwise(&own).into_iter();
        let granted = set.map(|(row, value)| Self {
            table,
            name: row.name,
            value,
            meaning: meaning(&wanted, row.name).unwrap_or(row.about),
        });
        granted.collect()
    }

    pub(super) fn line(&self, width: Option<usize>) -> String {
        let Self { table, name, value, meaning } = self;
        let value = visible(value);
        let line = format!("{DOUBTFUL}{table}.{name} = {value}{DOUBTFUL:#}: {}", visible(meaning));
        format!("  {}\n", wrap(&line, 4, width))
    }
}

fn snapshot_meaning(name: &str) -> Option<String> {
    let meaning = match name {
        "at_turn_start" => "takes a snapshot of the working tree at the start of every turn",
        _ => return None,
    };
    Some(meaning.to_owned())
}

fn autosave_meaning(autosave: &Autosave, name: &str) -> Option<String> {
    Some(match name {
        "mode" => {
            let when = format!("when the context is {} % full", autosave.threshold);
            match (autosave.mode, &autosave.push) {
                (AutosaveMode::Off, _) => "saves nothing by itself".to_owned(),
                (AutosaveMode::Normal, _) => format!("notifies you {when}"),
                (AutosaveMode::Autonomous, None) => {
                    format!(
                        "saves by itself {when}: notes, a commit, and a push if the remote already has the branch"
                    )
                }
                (AutosaveMode::Autonomous, Some(_)) => {
                    format!("saves by itself {when}: notes, a commit, and a push as `push` says")
                }
            }
        }
        "push" => match &autosave.push {
            Some(push) if push.may_publish() => {
                "pushes by itself, and publishes branches that the remote does not have"
            }
            Some(push) if push.may_push() => "pushes branches by itself that the remote already has",
            _ => "pushes nothing",
        }
        .to_owned(),
        "include" => match autosave.include {
            Include::All => "commits what the turn changed, too",
            Include::Notes => "commits only the notes and `buildguide.md`",
        }
        .to_owned(),
        "allow_secrets_in"
            if Allow::new(&autosave.allow_secrets_in, &[], &[]).is_ok_and(|allow| allow.has_every_path()) =>
        {
            "switches off the scan for secrets: every file matches".to_owned()
        }
        "allow_secrets_in" => "nothing in files that match counts as a secret".to_owned(),
        "allow_secrets" => "these do not count as secrets, wherever they are".to_owned(),
        _ => return None,
    })
}
