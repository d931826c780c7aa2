//! Who calls a hook. Some hosts run the hooks of other clients' settings and send payloads of their own: they are known by where
//! their transcript lies, by fields that they alone send, or by their variables (L16).

use transcript::Agent;

use crate::host::host;

/// How a host is known by what it sends.
#[derive(Clone, Copy, Debug)]
pub struct CallerMarks {
    /// Fields that it alone sends.
    pub fields: &'static [&'static str],
    /// A variable in the environment of its hooks.
    pub variable: Option<&'static str>,
    /// The folder that its transcripts lie in, if it is not the one of its settings.
    pub transcript_folder: Option<&'static str>,
}

/// The host that calls the hook which is registered for `registered`. The transcript decides where it lies in a host's own folder; a field
/// or a variable may be somebody else's, too, so the host that the hook was registered for is believed first.
pub(crate) fn calling(
    registered: Agent,
    transcript: Option<&str>,
    has_field: impl Fn(&str) -> bool,
    is_set: impl Fn(&str) -> bool,
) -> Agent {
    let lies_in =
        |folder: &str| transcript.is_some_and(|path| path.split(['/', '\\']).any(|part| part == folder));
    let lies_with = |agent: &Agent| {
        let files = &host(*agent).files;
        lies_in(host(*agent).marks.transcript_folder.unwrap_or(files.folder))
            || (*agent == registered && files.user_folders.is_some_and(|folders| lies_in(folders.name)))
    };
    if lies_with(&registered) {
        return registered;
    }
    let others = || Agent::ALL.into_iter().filter(|agent| *agent != registered);
    let own_variable = host(registered).marks.variable;
    let has_mark = |agent: &Agent| {
        let CallerMarks { fields, variable, .. } = host(*agent).marks;
        let is_called_by = |name: &str| is_set(name) && own_variable.is_none_or(|own| !is_set(own));
        fields.iter().any(|name| has_field(name)) || variable.is_some_and(is_called_by)
    };
    others().find(lies_with).or_else(|| others().find(has_mark)).unwrap_or(registered)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever runs the hooks in Claude Code's settings.
    fn caller(transcript: Option<&str>, fields: &[&str], variables: &[&str]) -> Agent {
        let (has_field, is_set) =
            (|name: &str| fields.contains(&name), |name: &str| variables.contains(&name));
        calling(Agent::default(), transcript, has_field, is_set)
    }

    #[test]
    fn l16_a_host_is_known_by_its_transcript_its_fields_or_its_variables() {
        for agent in Agent::ALL {
            let marks = host(agent).marks;
            let folder = marks.transcript_folder.unwrap_or(host(agent).files.folder);
            assert_eq!(caller(Some(&format!("/home/dev/{folder}/projects/1.jsonl")), &[], &[]), agent);
            assert_eq!(caller(Some(&format!("C:\\Users\\dev\\{folder}\\1.jsonl")), &[], &[]), agent);
            for field in marks.fields {
                assert_eq!(caller(None, &[field], &[]), agent, "{field}");
                assert_eq!(caller(Some("/tmp/x.jsonl"), &[field], &[]), agent, "{field}");
            }
            if let Some(variable) = marks.variable {
                assert_eq!(caller(None, &[], &[variable]), agent, "{variable}");
            }
        }
    }

    #[test]
    fn l16_the_host_that_the_hook_is_registered_for_is_believed_first() {
        let claude = Agent::default();
        let own = Some("/home/dev/.claude/projects/-home-dev-proj/1.jsonl");
        let variables: Vec<&str> =
            Agent::ALL.into_iter().filter_map(|agent| host(agent).marks.variable).collect();
        // A client that was started in the shell of another one.
        assert_eq!(caller(own, &[], &variables), claude);
        assert_eq!(caller(None, &[], &[]), claude);
        assert_eq!(caller(Some("/tmp/x.jsonl"), &[], &[]), claude);
    }

    /// A mark that two hosts have would tell nobody apart.
    #[test]
    fn no_two_hosts_share_a_mark() {
        let fields = || Agent::ALL.into_iter().flat_map(|agent| host(agent).marks.fields.iter().copied());
        let variables = || Agent::ALL.into_iter().filter_map(|agent| host(agent).marks.variable);
        for mark in fields().chain(variables()) {
            assert_eq!(fields().chain(variables()).filter(|other| *other == mark).count(), 1, "{mark}");
        }
    }
}
