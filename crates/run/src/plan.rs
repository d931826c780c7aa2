//! What a run does: the stages of a plan file, each with its envelope and its command, its parameters filled in. Every
//! mistake is found in one go and told with its line; a plan that is read is sound: no cycle, no missing input, no name
//! that leaves its place. What is written becomes stages here; whoever runs them sees nothing else.

mod check;
mod expansion;
mod fan_out;
mod keys;
mod order;
mod parameters;
mod placeholder;
mod resources;
mod template;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use settings::{Quoting, Reader, TableOfKeys as _};

use expansion::{Expansion, WrittenPlan};
use keys::ClusterLayer;

pub(crate) use expansion::SessionTurn;
pub use keys::{Cluster, ExchangeBy, Grace, Kind, Python, Stall, Storing};
pub(crate) use parameters::lossless;
pub use parameters::{NoParameterError, Scalar, SetParameter};
pub use resources::{ResourceError, Resources};
pub use settings::{Place, Problem, Problems};
pub use template::{TEMPLATES, Template};

/// A stage takes this long where its envelope says nothing.
pub const DEFAULT_DURATION: Duration = Duration::from_secs(240);
/// What is said of a run without stages.
pub const NOTHING_TO_RUN: &str = "there was nothing to run: `when` leaves out every stage";
/// The most seconds that an envelope may ask for without checkpoints on the way.
const LONGEST_DURATION: i64 = 600;
/// The most seconds for a stage that saves checkpoints on its way: a week.
const LONGEST_WITH_CHECKPOINTS: i64 = 7 * 24 * 3600;
/// Nothing longer should be at risk at once.
pub(crate) const LONGEST_WITHOUT_CHECKPOINT: Duration = Duration::from_secs(240);

#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub title: String,
    pub python: Python,
    /// What the plan says of a cluster that it is run on.
    cluster: ClusterLayer,
    /// More files in one folder are refused.
    pub most_files: usize,
    /// In the order of the file; behind them those that became known only during the run.
    pub stages: Vec<Stage>,
    /// Stages whose `when` does not hold, and those that read what these would make.
    pub left_out: Vec<String>,
    /// What is allowed, and should be looked at all the same.
    pub warnings: Vec<Problem>,
    written: Arc<WrittenPlan>,
    expansion: Expansion,
}

/// What is to run once a list is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingStage {
    /// As the plan has it; its instances add letters.
    pub id: String,
    pub max_duration: Duration,
    pub waits_for: Vec<String>,
    /// Nobody knows yet how many instances it has.
    pub is_fan_out: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stage {
    pub id: String,
    /// Its id in the plan file, which all instances of a fan-out share.
    pub template: String,
    /// Those of the instance; empty for a stage without `forEach`.
    #[serde(with = "lossless")]
    pub parameters: Vec<(String, Scalar)>,
    pub goal: String,
    pub kind: Kind,
    pub command: Program,
    /// Has to end well before anything of the stage is accepted.
    pub verify: Option<Program>,
    pub environment: Vec<(String, String)>,
    /// Below the root.
    pub directory: PathBuf,
    pub inputs: Vec<Input>,
    pub outputs: Vec<Output>,
    pub max_duration: Duration,
    /// Places in `Plan::stages`: those that are named, and those whose outputs are inputs here.
    pub dependencies: Vec<usize>,
    /// Those of them that the plan names in `dependencies`: what they do counts besides what is read of them.
    pub named_dependencies: Vec<usize>,
    /// Whether it may be run again after it failed or was interrupted.
    pub is_retryable: bool,
    /// Whether it may run for long without a checkpoint of its own.
    pub is_unchecked: bool,
    /// How often it is run again by itself.
    pub retries: u32,
    /// How long the first of them waits; each further one waits twice as long.
    pub backoff: Duration,
    /// What it uses while it runs.
    pub resources: Resources,
    pub checkpoint_after: bool,
    /// Where checkpoints keep what it made.
    pub store: Storing,
    pub stall: Stall,
    pub grace: Grace,
}

/// What is run: words as they are, or a text for `sh`. In a stage of kind `python` a text is the cell itself, and a word the
/// file that has it.
#[derive(Clone, Debug, Eq, Hash, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Program {
    Words(Vec<String>),
    Shell(String),
}

impl Default for Program {
    fn default() -> Self {
        Self::Words(Vec::new())
    }
}

impl Program {
    pub fn argv(&self) -> Vec<String> {
        match self {
            Self::Words(words) => words.clone(),
            Self::Shell(text) => vec!["sh".to_owned(), "-c".to_owned(), text.clone()],
        }
    }
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Input {
    pub name: String,
    pub source: InputSource,
}

impl Input {
    /// The environment variable that holds its path.
    pub fn variable(&self) -> String {
        format!("CHECKSTONE_INPUT_{}", self.name.to_ascii_uppercase())
    }
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputSource {
    /// A file or a folder of the project, below the root.
    Project(PathBuf),
    /// An output of another stage: its place in `Plan::stages`, and the path in that stage's artifacts.
    Output { stage: usize, path: String },
    /// The same output of all instances of a stage.
    Gathered { stages: Vec<usize>, path: String },
}

impl InputSource {
    /// As the plan has it.
    pub fn shown(&self, plan: &Plan) -> String {
        match self {
            Self::Project(path) => path.display().to_string(),
            Self::Output { stage, path } => {
                let id = plan.stages.get(*stage).map_or("", |stage| &stage.id);
                format!("{id}/{path}")
            }
            Self::Gathered { stages, path } => {
                let first = stages.first().and_then(|stage| plan.stages.get(*stage));
                format!("{}/*/{path}", first.map_or("", |stage| &stage.template))
            }
        }
    }

    /// The stages that make it.
    pub fn stages(&self) -> &[usize] {
        match self {
            Self::Project(_) => &[],
            Self::Output { stage, .. } => std::slice::from_ref(stage),
            Self::Gathered { stages, .. } => stages,
        }
    }
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
pub struct Output {
    pub name: String,
    /// Below the directory of the stage's artifacts, with `/` between its parts.
    pub path: String,
    /// In the plan file.
    #[serde(with = "written_place")]
    pub place: Place,
}

/// A place in a plan file, as a list.
mod written_place {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use settings::Place;

    pub(super) fn serialize<S: Serializer>(place: &Place, serializer: S) -> Result<S::Ok, S::Error> {
        (&*place.file, place.line, place.column).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Place, D::Error> {
        let (file, line, column) = <(String, usize, usize)>::deserialize(deserializer)?;
        Ok(Place { file: file.into(), line, column })
    }
}

impl Stage {
    /// The parameters of an instance, as people read them: `lr = 0.1, seed = 1`.
    pub fn parameters_in_words(&self) -> String {
        let each = self.parameters.iter().map(|(name, value)| format!("{name} = {value}"));
        each.collect::<Vec<_>>().join(", ")
    }
}

impl Plan {
    /// Reads the text of a plan file, which is called `name` in messages. Input files are looked for below `root`.
    pub fn read(name: &str, text: &str, root: &Path) -> Result<Self, Problems> {
        Self::read_with(name, text, root, &[])
    }

    /// As [`Plan::read`], with other values for some of its parameters.
    pub fn read_with(name: &str, text: &str, root: &Path, set: &[SetParameter]) -> Result<Self, Problems> {
        // TOML leaves the line ends in a text of several lines as they are, and no shell wants a carriage return.
        let text = &text.replace("\r\n", "\n");
        let mut reader = Reader::new(name, text, Quoting::Values);
        let plan = match reader.read::<keys::PlanFile>() {
            Some(layer) => check::check(layer, (name, text), root, set, &mut reader),
            None => Self::default(),
        };
        if reader.problems.is_empty() {
            return Ok(plan);
        }
        // All instances of a stage have the same mistakes.
        let mut problems = Problems::sorted(reader.problems);
        problems.0.dedup();
        Err(problems)
    }

    /// The ids of stages in the text of a plan, as they are written there; none if the text cannot be read.
    pub(crate) fn ids_in(text: &str) -> Option<HashSet<String>> {
        let text = &text.replace("\r\n", "\n");
        let layer = Reader::new("", text, Quoting::Values).read::<keys::PlanFile>()?;
        let drafts = layer.stages.unwrap_or_default().into_iter();
        Some(drafts.filter_map(|draft| Some(draft.value.id?.value)).collect())
    }

    /// What a cluster is told: by the text of the user's own configuration, called `name` in messages, and by the plan, which wins.
    pub fn cluster(&self, name: &str, user: &str) -> Result<Cluster, Problems> {
        let mut layer = Cluster::of_user(name, user)?;
        Cluster::merge(&mut layer, self.cluster.clone());
        Ok(Cluster::finish(layer))
    }

    /// A plan that runs nothing.
    pub(crate) fn without_stages(title: &str) -> Self {
        Self { title: title.to_owned(), ..Self::default() }
    }

    /// As much of a plan as one attempt needs.
    pub(crate) fn of_stages(self, python: Python, most_files: usize, stages: Vec<Stage>) -> Self {
        Self { python, most_files, stages, ..self }
    }

    /// Stages that ask for more than there is, so that they could never begin.
    pub fn check_resources(&self, there: &Resources) -> Result<(), Problems> {
        let asked = self.written.drafts.iter().flat_map(|draft| draft.value.resources.iter().flatten());
        let lack =
            asked.filter_map(|(name, amount)| Some(name.place.problem(there.lack_of(&name.value, *amount)?)));
        let problems: Vec<Problem> = lack.collect();
        if problems.is_empty() { Ok(()) } else { Err(Problems::sorted(problems)) }
    }

    /// Names and values of the parameters, by name, as a TOML file would have them.
    pub fn parameters(&self) -> Vec<(String, String)> {
        self.written.parameters.written()
    }

    /// Where the command of a stage is written, by the stage's id in the plan.
    pub(crate) fn command_place(&self, template: &str) -> Place {
        let draft = self.written.ids.get(template).and_then(|index| self.written.drafts.get(*index));
        let command = draft.and_then(|draft| draft.value.command.as_ref());
        command.map(|command| command.place.clone()).unwrap_or_default()
    }

    /// Where a line of the cell of a stage is written.
    pub(crate) fn cell_place(&self, template: &str, line: usize) -> Place {
        let place = self.command_place(template);
        let written = self.written.text.lines().nth(place.line.saturating_sub(1)).unwrap_or_default();
        let opening: String = written.chars().skip(place.column.saturating_sub(1)).collect();
        match opening.trim_end() {
            // The line break behind the quotes is no part of the text.
            "'''" | "\"\"\"" => Place { line: place.line + line, column: 1, ..place },
            opening if opening.starts_with("'''") || opening.starts_with("\"\"\"") => {
                let column = if line > 1 { 1 } else { place.column };
                Place { line: place.line + line.saturating_sub(1), column, ..place }
            }
            _ => place,
        }
    }

    /// The parameters that were set from outside, as NAME=VALUE.
    pub fn set(&self) -> &[String] {
        &self.written.set
    }

    /// Whether there is such a stage in the plan file, or might be one once a list is there.
    pub fn knows(&self, id: &str) -> bool {
        let is_instance = |waiting: &WaitingStage| {
            id.strip_prefix(&waiting.id).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        self.stages.iter().any(|stage| stage.id == id || stage.template == id)
            || self.waiting().iter().any(is_instance)
    }

    /// Whether a stage of it must not be repeated; of those that are not known yet nobody can say.
    pub fn has_once_only(&self) -> bool {
        !self.is_whole() || self.stages.iter().any(|stage| !stage.is_retryable)
    }

    pub fn stage(&self, id: &str) -> Option<usize> {
        self.stages.iter().position(|stage| stage.id == id)
    }
}

/// `S01_load_data`: a number of two digits or more, a verb, and a noun.
fn is_stage_id(text: &str) -> bool {
    let Some((number, rest)) = text.strip_prefix('S').and_then(|rest| rest.split_once('_')) else {
        return false;
    };
    let Some((verb, noun)) = rest.split_once('_') else { return false };
    let is_lower = |part: &str| part.bytes().all(|byte| byte.is_ascii_lowercase());
    number.len() >= 2
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && !verb.is_empty()
        && is_lower(verb)
        && !noun.is_empty()
        && noun.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stage_ids_are_a_number_a_verb_and_a_noun() {
        for id in ["S01_load_data", "S99_train_big_model", "S12345_step_x", "S01_a_b"] {
            assert!(is_stage_id(id), "{id}");
        }
        for id in [
            "",
            "S1_load_data",
            "s01_load_data",
            "S01_load",
            "S01__data",
            "S01_load_",
            "S01_Load_data",
            "S01-load-data",
            "S01_load_data1",
            "S01_load_../x",
            "S0a_load_data",
            "01_load_data",
        ] {
            assert!(!is_stage_id(id), "{id}");
        }
    }
}
