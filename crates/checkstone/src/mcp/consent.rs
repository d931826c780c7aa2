//! The person's consent to a call that writes over their files, asked for in the client: by a request to it, or, where the
//! protocol has none from a server, by an answer that asks to call again with it.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationSchema, InputRequest, InputRequiredResult, JsonObject,
};
use rmcp::service::RequestContext;
use serde_json::{Value, json};

use super::offered_tool::ToolCommand;
use crate::error::CommandError;

/// The name of the one answer that is asked for.
const ANSWER: &str = "consent";

/// So many questions are open at once; older ones count as answered with no.
const MOST_OPEN: usize = 16;

/// What became of a question.
#[derive(Debug)]
pub(super) enum Consent {
    Given,
    /// The client is to ask, and to call again.
    Wanted(Box<InputRequiredResult>),
}

/// Calls that were not begun yet, by the word that the client brings back, so that a yes counts for what was asked.
#[derive(Debug, Default)]
pub(super) struct OpenQuestions(Mutex<HashMap<String, JsonObject>>);

impl OpenQuestions {
    pub(super) async fn ask(
        &self,
        request: &CallToolRequestParams,
        line: &ToolCommand,
        folder: &Path,
        context: &RequestContext<RoleServer>,
    ) -> Result<Consent, CommandError> {
        let refused = |why: &str| {
            CommandError::refused(format!("`{}` needs a person's consent: {why}", request.name))
                .hint(format!("run the command in a terminal: `checkstone {}`", line.as_typed()))
        };
        let elicitation = context.client_capabilities().and_then(|can| can.elicitation);
        if !elicitation.is_some_and(|can| can.form.is_some() || can.url.is_none()) {
            return Err(refused("this client cannot ask"));
        }
        let arguments = request.arguments.clone().unwrap_or_default();
        let may_request = context.protocol_version().is_some_and(|version| version.has_initialize());
        let answer = if may_request {
            let asked = context.peer.create_elicitation(question(line, folder)?);
            let answer = tokio::select! {
                answer = asked => answer.map_err(|error| refused(&error.to_string()))?,
                () = context.ct.cancelled() => return Err(CommandError::interrupted("the call was cancelled")),
            };
            Some(answer)
        } else {
            self.answered(request, &arguments)
        };
        match answer {
            Some(answer) if is_yes(&answer) => Ok(Consent::Given),
            Some(_) => Err(refused("it was not given")),
            None => {
                let word = files::random_id();
                self.remember(&word, arguments);
                let asked = InputRequest::Elicitation(ElicitRequest::new(question(line, folder)?));
                let questions = BTreeMap::from([(ANSWER.to_owned(), asked)]);
                Ok(Consent::Wanted(Box::new(InputRequiredResult::new(Some(questions), Some(word)))))
            }
        }
    }

    /// The answer that a second call brings with it, to the question about these very arguments.
    fn answered(&self, request: &CallToolRequestParams, arguments: &JsonObject) -> Option<ElicitResult> {
        let answer = request.input_responses.as_ref()?.get(ANSWER)?;
        let word = request.request_state.as_deref()?;
        let asked = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(word)?;
        (asked == *arguments).then(|| serde_json::from_value(answer.clone()).ok())?
    }

    fn remember(&self, word: &str, arguments: JsonObject) {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MOST_OPEN {
            open.clear();
        }
        open.insert(word.to_owned(), arguments);
    }
}

fn is_yes(answer: &ElicitResult) -> bool {
    let said = answer.content.as_ref().and_then(|content| content.get(ANSWER)).and_then(Value::as_bool);
    answer.action == ElicitationAction::Accept && said == Some(true)
}

fn question(line: &ToolCommand, folder: &Path) -> Result<ElicitRequestParams, CommandError> {
    let schema = json!({
        "type": "object",
        "properties": {ANSWER: {
            "type": "boolean",
            "title": "Restore",
            "description": "Restore the files as the snapshot has them",
            "default": false,
        }},
        "required": [ANSWER],
    });
    let message = format!(
        "The agent wants to run `checkstone {}` in `{}`. It overwrites files of the working tree; a snapshot of the current \
         state is taken first, and `checkstone snapshot restore --undo` restores that.",
        line.as_typed(),
        folder.display(),
    );
    Ok(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: serde_json::from_value::<ElicitationSchema>(schema)?,
    })
}
