//! Every key of a plan file: its name, what it may be set to, what counts if it is left out, and what it means. What can only
//! be seen when all of it is read is in `check.rs`.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use settings::{
    At, Boolean, Choice, Choices, Document, Entry, Kind as _, List, Names, Nested, OneOrMore, Pairs, Placed,
    Problems, Quoting, Reader, Seconds, Shape, Text, Whole, choices, table,
};
use supervise::StallInterrupt;

use super::fan_out::ForEach;
use super::parameters::{ParameterTable, ParametersLayer};
use super::resources::{ResourceTable, ResourcesLayer};
use super::{LONGEST_DURATION, LONGEST_WITH_CHECKPOINTS, Program};
use crate::publish;

/// Of one stage, unless the plan says otherwise.
pub(super) const MOST_INSTANCES: usize = 10_000;

table! {
    #[derive(Debug)]
    pub(super) struct PlanFile, layer PlanLayer {
        /// What the report is called.
        title: Placed<Text>;
        /// Values for `{params.NAME}` in the texts of the stages.
        parameters as "params": ParameterTable = ParametersLayer::default();
        /// A stage has at most so many instances.
        most_instances as "maxInstances": Whole<usize, 1, 1_000_000> = MOST_INSTANCES;
        /// An input or the outputs of a stage are at most so many files.
        most_files as "maxFiles": Whole<usize, 1, 10_000_000> = publish::MOST_FILES;
        /// What the stages of kind `python` have in common.
        python: Nested<Python> = Python::default();
        /// What a cluster is told that the stages are run on (`--on slurm`).
        cluster: Nested<Cluster> = Cluster::default();
        /// The stages.
        stages as "stage": List<StageFile> = Vec::new();
    }
}

table! {
    /// What the stages of kind `python` have in common: one kernel.
    #[derive(Clone, Debug, Eq, PartialEq, Serialize, Deserialize)]
    pub struct Python, layer PythonLayer {
        /// An interpreter below the root, or the name of a Jupyter kernelspec.
        interpreter: Text, or "the project's own Python";
        /// What the random generators of a new kernel begin with.
        seed: Whole<u32>, or "none";
        /// Whether the session's variables are saved at each checkpoint, besides the artifacts.
        saves_variables as "variables": Boolean = true;
    }
}

table! {
    /// What a cluster is told. The user's own configuration may say it for every plan.
    #[derive(Clone, Debug, Eq, PartialEq)]
    pub struct Cluster, layer ClusterLayer {
        /// The partition that jobs are submitted to.
        partition: Text, or "the cluster's default";
        /// Whom they are charged to.
        account: Text, or "your default";
        /// Their quality of service.
        qos: Text, or "your default";
        /// Further words for `sbatch`, such as `--constraint=avx2`.
        sbatch: Names = Vec::new();
        /// How many seconds pass between two looks at the list of jobs; their results are seen without it.
        poll as "pollSec": Seconds<1, 600> = Duration::from_secs(5);
        /// How nodes are reached: by the project's folder, which they see, or by the bucket of `store`.
        exchange: Choice<ExchangeBy> = ExchangeBy::Folder;
    }
}

impl Cluster {
    /// The part of the user's own configuration that is about a cluster; what else stands there is known elsewhere.
    pub(super) fn of_user(name: &str, text: &str) -> Result<ClusterLayer, Problems> {
        let document = Document::parse(name, text)?;
        let mut reader = Reader::new(name, text, Quoting::Values);
        let own = document.root().iter().find(|(key, _)| key.get_ref() == "cluster");
        let layer = own.and_then(|(key, value)| Nested::<Self>::read(Entry { key, value }, &mut reader));
        if reader.problems.is_empty() {
            Ok(layer.unwrap_or_default())
        } else {
            Err(Problems::sorted(reader.problems))
        }
    }
}

table! {
    #[derive(Debug)]
    pub(super) struct StageFile, layer StageLayer {
        /// A number of two digits or more, a verb and a noun: `S01_load_data`.
        id as "stageId": Placed<Text>;
        /// What it is for, in 10 to 200 characters.
        goal: Placed<Text>;
        /// A program, or a cell of the run's Python kernel.
        kind: Choice<Kind> = Kind::Command;
        /// One stage for each value of a list.
        for_each as "forEach": ForEach, or "one stage";
        /// Whether it is run at all: `params.NAME`, `not params.NAME`, `params.NAME == VALUE`.
        when: Placed<Text>, or "always";
        /// What is run.
        command: Placed<ProgramText>;
        /// Has to end well before anything of the stage is accepted.
        verify: Placed<ProgramText>, or "none";
        /// Environment variables of the command.
        environment: Pairs = Vec::new();
        /// Where it runs, below the root.
        directory: Placed<Text>, or "the root";
        /// Files and folders that it reads, by name: below the root, or `STAGE/OUTPUT` for an output of another stage.
        inputs: NamedPaths = Vec::new();
        /// Files and folders that it makes, by name, below its artifacts.
        outputs: NamedPaths = Vec::new();
        /// A stage that takes longer is ended.
        max_duration as "maxDurationSec": Placed<Seconds<1, LONGEST_WITH_CHECKPOINTS>>, or "240";
        /// Stages that have to be done before.
        dependencies: Names = Vec::new();
        /// Whether it may be run again after it failed or was interrupted.
        is_retryable as "retryable": Boolean = true;
        /// How often it is run again by itself.
        retries: Placed<Whole<u32, 0, 100>>, or "0";
        /// How long the first of them waits; each further one waits twice as long.
        backoff as "backoffSec": Seconds<0, 3600> = Duration::ZERO;
        /// What it uses of the machine while it runs: `cpus`, `memory`, `gpus`, or a name of your own.
        resources: ResourceTable = ResourcesLayer::new();
        /// Whether a checkpoint is saved when it is done.
        checkpoint_after as "checkpointAfter": Boolean = true;
        /// Where checkpoints keep what it made: as a copy of their own, or only where it is published.
        store: Choice<Storing> = Storing::Copy;
        /// Whether it prints `[CHECKPOINT:saved:…]` by itself.
        mid_stage_checkpoints as "midStageCheckpoints": Boolean = false;
        /// Whether it may run for longer than 240 seconds without a checkpoint.
        is_unchecked as "unchecked": Boolean = false;
        /// When it counts as stalled.
        stall: Nested<Stall> = Stall::default();
        /// How long it may take to end by itself after each signal.
        grace: Nested<Grace> = Grace::default();
    }
}

choices! {
    #[derive(Deserialize)]
    pub enum Storing { Copy = "copy", Reference = "reference" }
}

choices! {
    pub enum ExchangeBy { Folder = "folder", Bucket = "bucket" }
}

choices! {
    #[derive(Deserialize)]
    pub enum Kind { Command = "command", Python = "python" }
}

table! {
    /// After how much of each kind of silence a stage counts as stalled; `None`: never.
    #[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
    pub struct Stall, layer StallLayer {
        /// Seconds without output; 0 is never.
        output as "outputSec": SecondsOrNever = Some(Duration::from_secs(60));
        /// Seconds without a marker; 0 is never.
        marker as "markerSec": SecondsOrNever = Some(Duration::from_secs(90));
        /// Silent for as long as this without processor time or growing artifacts: hung, not slow.
        idle as "idleSec": Seconds<1, LONGEST_DURATION> = Duration::from_secs(60);
        /// Which stalled stages are interrupted.
        interrupt: Choice<Interrupts> = StallInterrupt::Never;
    }
}

table! {
    /// How long a stage may take to end by itself after each signal.
    #[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
    pub struct Grace, layer GraceLayer {
        /// After the interrupt.
        interrupt as "interruptSec": Seconds<0, 30> = Duration::from_secs(5);
        /// After the request to terminate.
        terminate as "terminateSec": Seconds<0, 30> = Duration::from_secs(3);
    }
}

/// The words for [`StallInterrupt`].
pub(super) struct Interrupts;

impl Choices for Interrupts {
    type Choice = StallInterrupt;
    const WORDS: &'static [(&'static str, StallInterrupt)] =
        &[("never", StallInterrupt::Never), ("hung", StallInterrupt::Hung), ("any", StallInterrupt::Any)];
}

/// Whole seconds; 0 is never.
pub(super) struct SecondsOrNever;

impl settings::Kind for SecondsOrNever {
    settings::used_as_written!(Option<Duration>);

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Option<Duration>> {
        let seconds = Seconds::<0, LONGEST_DURATION>::read(entry, reader)?;
        Some(Some(seconds).filter(|seconds| !seconds.is_zero()))
    }

    fn shape() -> Shape {
        Shape::Whole
    }
}

/// A list of words, or one text for the shell.
pub(super) struct ProgramText;

impl settings::Kind for ProgramText {
    settings::used_as_written!(Program);

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Program> {
        let program = match entry.value.get_ref() {
            value if value.is_str() => Program::Shell(reader.string(entry)?),
            value if value.is_array() => Program::Words(Names::value(reader.strings(entry)?)),
            _ => {
                reader.wrong(entry, "an array of words, or a string for the shell");
                return None;
            }
        };
        let (is_empty, has_nul) = match &program {
            Program::Shell(text) => (text.trim().is_empty(), text.contains('\0')),
            Program::Words(words) => (
                words.first().is_none_or(|word| word.is_empty()),
                words.iter().any(|word| word.contains('\0')),
            ),
        };
        if is_empty || has_nul {
            reader.wrong(entry, if is_empty { "something to run" } else { "free of NUL characters" });
            return None;
        }
        Some(program)
    }

    fn shape() -> Shape {
        Shape::TextOrTexts
    }
}

/// Names and paths, or paths alone, which are named after their files.
pub(super) struct NamedPaths;

impl settings::Kind for NamedPaths {
    settings::used_as_written!(Vec<(At<String>, At<String>)>);

    fn read(entry: Entry<'_, '_>, reader: &mut Reader<'_>) -> Option<Self::Written> {
        if entry.value.get_ref().is_table() {
            return Pairs::read(entry, reader);
        }
        let paths = OneOrMore::read(entry, reader)?.into_iter();
        Some(paths.map(|path| (path.clone().map(|path| name_of(&path)), path)).collect())
    }

    fn shape() -> Shape {
        Shape::TextOrTexts
    }
}

/// The last part of a path without its ending, as a variable may be called.
fn name_of(path: &str) -> String {
    let last = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let stem = last.split('.').find(|part| !part.is_empty()).unwrap_or_default();
    stem.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}
