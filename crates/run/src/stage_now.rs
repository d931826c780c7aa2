//! A stage as it is now: what it would be known by if it were run, found with as little reading as possible.

use std::collections::BTreeMap;
use std::path::Path;

use checkpoint::FileHashes;
use checkpoint::layout::Layout;

use crate::event::{Accepted, AcceptedArtifact, AcceptedInput};
use crate::fingerprint::{self, Preceding};
use crate::input_content::{self, InputContent, InputReader, ReadInput};
use crate::plan::{Input, Plan, Stage};
use crate::planted_fault::{Oversight, overlooks};
use crate::project_code::ProjectCode;
use crate::publish;
use crate::stage_parts;

#[derive(Debug)]
pub(crate) struct StageNow {
    pub(crate) fingerprint: String,
    pub(crate) inputs: Vec<AcceptedInput>,
}

/// Whether a published file is what was accepted. It is read only if its identity does not say so.
pub(crate) fn is_in_place(
    layout: &Layout,
    hashes: &FileHashes,
    path: &Path,
    artifact: &AcceptedArtifact,
) -> bool {
    let Some(identity) = publish::identity(path) else { return false };
    let content = || {
        let file = fingerprint::open_regular(path).ok()?;
        hashes.content(&layout.relative(path), &file, &|| true).ok()
    };
    overlooks(Oversight::PublishedOutputs)
        || identity == artifact.identity
        || content().is_some_and(|content| content.sha256 == artifact.sha256)
}

/// What is known of the stages before it, and of itself.
pub(crate) struct Known<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) layout: &'a Layout,
    pub(crate) hashes: &'a FileHashes,
    pub(crate) code: &'a ProjectCode,
    /// What the stages of the run made, by their places. Their outputs are in their places, unless they are of another run.
    pub(crate) accepted: &'a dyn Fn(usize) -> Option<&'a Accepted>,
}

impl Known<'_> {
    /// `before` is what the stage was known by once: an input with the same identity is not read again. `None` if an input cannot
    /// be read.
    pub(crate) fn look(&self, stage: &Stage, before: &Accepted, preceding: &Preceding) -> Option<StageNow> {
        let inputs: Vec<AcceptedInput> =
            stage.inputs.iter().map(|input| self.input(input, before)).collect::<Option<_>>()?;
        let hashes: Vec<(String, String)> =
            inputs.iter().map(|input| (input.name.clone(), input.sha256.clone())).collect();
        let code = self.code.of_stage(stage);
        Some(StageNow {
            fingerprint: fingerprint::of_stage(stage, &self.plan.python, &code, &hashes, preceding),
            inputs,
        })
    }

    fn reader(&self) -> InputReader<'_> {
        let Self { plan, layout, hashes, .. } = self;
        InputReader { layout, hashes, most_files: plan.most_files, may_go_on: &|| true }
    }

    fn input(&self, input: &Input, before: &Accepted) -> Option<AcceptedInput> {
        let content = InputContent::of(self.plan, self.layout, &input.source).ok()?;
        let identity = content.identity(self.plan.most_files);
        let known = before.inputs.iter().find(|known| known.name == input.name);
        let known = known.filter(|known| Some(&known.identity) == identity.as_ref());
        let read = match known {
            Some(known) => ReadInput { sha256: known.sha256.clone(), identity },
            None => match input_content::accepted_sha256(self.plan, &input.source, self.accepted) {
                // Nobody has looked at it.
                Some(sha256) => ReadInput { sha256, identity: None },
                None => content.read(&self.reader()).ok()?,
            },
        };
        Some(AcceptedInput {
            name: input.name.clone(),
            sha256: read.sha256,
            identity: read.identity.unwrap_or_default(),
        })
    }

    /// What has changed under a stage since it began, in words. A script that was not there then is one that it wrote.
    pub(crate) fn changes_since(
        &self,
        stage: &Stage,
        began: &Accepted,
        preceding: &Preceding,
    ) -> Vec<String> {
        let inputs = stage.inputs.iter().filter_map(|input| self.input(input, began)).collect::<Vec<_>>();
        let mut parts =
            stage_parts::of_stage(stage, &self.plan.python, &self.code.of_stage(stage), preceding);
        parts.retain(|name, _| began.parts.contains_key(name));
        stage_parts::changes(began, &parts, &inputs, |name| self.path_of(stage, name))
    }

    fn path_of(&self, stage: &Stage, name: &str) -> String {
        let input = stage.inputs.iter().find(|input| input.name == name);
        input.map_or_else(|| name.to_owned(), |input| input.source.shown(self.plan))
    }

    /// What is no longer as it was, in words.
    pub(crate) fn changes(
        &self,
        stage: &Stage,
        now: &StageNow,
        before: &Accepted,
        preceding: &Preceding,
    ) -> String {
        let parts: BTreeMap<String, String> =
            stage_parts::of_stage(stage, &self.plan.python, &self.code.of_stage(stage), preceding);
        let changes = stage_parts::changes(before, &parts, &now.inputs, |name| self.path_of(stage, name));
        if changes.is_empty() { "something in it changed".to_owned() } else { changes.join(", ") }
    }
}
