//! A comment on an issue, made once.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::issue::Issue;
use super::{Linear, if_there, not_understood, uuid};
use crate::integrations::retry::ServiceError;

const CREATE: &str = "mutation Comment($input: CommentCreateInput!) \
                      { commentCreate(input: $input) { success comment { id url } } }";
const LOOK: &str = "query Posted($id: String!) { comment(id: $id) { id url } }";

impl Linear<'_> {
    /// Posts `body` on the issue. `occasion` tells apart two equal comments that are both meant: with the same issue,
    /// text and occasion there is never a second comment, however often it is tried.
    pub(super) fn comment(
        &self,
        issue: &Issue,
        body: &str,
        occasion: &str,
        tried_before: bool,
    ) -> Result<(), ServiceError> {
        let id = comment_id(&issue.id, body, occasion);
        let input = json!({"input": {"id": id, "issueId": issue.id, "body": body}});
        self.once(
            tried_before,
            |time| {
                let asked = self.ask(LOOK, &json!({"id": id}), time);
                if_there(asked.map(|data| data.pointer("/comment/id").and_then(Value::as_str).map(|_| ())))
            },
            |time| {
                let data = self.ask(CREATE, &input, time)?;
                match data.pointer("/commentCreate/success") {
                    Some(Value::Bool(true)) => Ok(()),
                    _ => Err(not_understood()),
                }
            },
        )
    }
}

fn comment_id(issue: &str, body: &str, occasion: &str) -> String {
    let mut hash = Sha256::new();
    for part in [issue, body, occasion] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    uuid(&text::hexadecimal(&hash.finalize()))
}
