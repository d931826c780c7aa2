//! The environment variables that are read, each named once, and the folders that they lead to. Nothing else reads
//! the environment.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use agents::{HoldForm, host};
use changes::GitProgram;
use jiff::tz::TimeZone;
use stop::StopSettings;
use transcript::Agent;

/// The time zone, where it is not the machine's.
pub(crate) const TIME_ZONE: &str = "TZ";

/// The width of the terminal, where the terminal itself does not tell.
pub(crate) const COLUMNS: &str = "COLUMNS";

/// `off` switches every hook off.
pub(crate) const SWITCH: &str = "CHECKSTONE";

/// Where the journal and the log are.
pub(crate) const STATE_DIRECTORY: &str = "CHECKSTONE_STATE_DIR";

/// The slug of the work item, where none is set for the session.
pub(crate) const SLUG: &str = "CHECKSTONE_SLUG";

/// The estimated tokens above which a summary is warned about.
pub(crate) const SUMMARY_WARNING: &str = "CHECKSTONE_SUMMARY_WARNING";

/// Set by a client in the environment of its hooks: what it calls itself, with its version.
pub(crate) const HARNESS: &str = "AI_AGENT";

/// Set by tmux in its panes: `socket,process,session`.
pub(crate) const TMUX: &str = "TMUX";

/// The person's own shell, in which some clients run hooks.
pub(crate) const SHELL: &str = "SHELL";

/// Where the user's own configuration is.
pub(crate) const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";

/// Where programs keep what can be had again.
pub(crate) const XDG_CACHE_HOME: &str = "XDG_CACHE_HOME";

/// The services that are switched on, `vercel` and `linear`, with a comma between them.
pub(crate) const INTEGRATIONS: &str = "CHECKSTONE_INTEGRATIONS";

/// The token for Vercel, as its own program takes it.
pub(crate) const VERCEL_TOKEN: &str = "VERCEL_TOKEN";

/// Where Vercel's API is, instead of its usual place.
pub(crate) const VERCEL_URL: &str = "CHECKSTONE_VERCEL_URL";

/// The key for Linear, as its own tools take it.
pub(crate) const LINEAR_KEY: &str = "LINEAR_API_KEY";

/// Where Linear's API is, instead of its usual place.
pub(crate) const LINEAR_URL: &str = "CHECKSTONE_LINEAR_URL";

/// A webhook that is told when a phase ends.
pub(crate) const WEBHOOK_URL: &str = "CHECKSTONE_WEBHOOK_URL";

/// What is sent to that webhook is signed with this.
pub(crate) const WEBHOOK_SECRET: &str = "CHECKSTONE_WEBHOOK_SECRET";

/// The database that holds the record of runs, instead of the one in the configuration.
pub(crate) const DATABASE: &str = "CHECKSTONE_DATABASE";

/// The bucket that holds artifacts, instead of the one in the configuration.
pub(crate) const STORE: &str = "CHECKSTONE_STORE";

/// The fault that a test plants; only builds of tests read it.
#[cfg(feature = "planted-faults")]
pub(crate) const PLANTED_FAULT: &str = "CHECKSTONE_PLANTED_FAULT";

/// Where files lie that are gone when a command ends.
pub(crate) const TMPDIR: &str = "TMPDIR";
/// `1`: a loop runs the agent, and demands that everything is saved.
pub(crate) const LOOP: &str = "CLAUDE_LOOP_ACTIVE";

/// The folder in which the client was started.
pub(crate) const PROJECT: &str = "CLAUDE_PROJECT_DIR";

/// How full the context has to be, in percent, for something to be saved.
pub(crate) const THRESHOLD: &str = "CLAUDE_CONTEXT_THRESHOLD";

/// How git reaches servers, where the user has a way of their own.
pub(crate) const SSH_COMMAND: &str = "GIT_SSH_COMMAND";

/// Set by git for its hooks: the index of the commit that is made.
pub(crate) const GIT_INDEX: &str = "GIT_INDEX_FILE";

/// Set by GitHub in every job.
pub(crate) const GITHUB: &str = "GITHUB_ACTIONS";

/// The branch that a pull request goes to.
pub(crate) const GITHUB_TARGET: &str = "GITHUB_BASE_REF";

/// A file that becomes part of the page of a GitHub job.
pub(crate) const GITHUB_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// Where a merge request of GitLab parted from the branch that it goes to, and that branch.
pub(crate) const GITLAB_BASE: &str = "CI_MERGE_REQUEST_DIFF_BASE_SHA";
pub(crate) const GITLAB_TARGET: &str = "CI_MERGE_REQUEST_TARGET_BRANCH_NAME";

/// What a branch was before the push that started a job of GitLab.
pub(crate) const GITLAB_BEFORE: &str = "CI_COMMIT_BEFORE_SHA";

pub(crate) const HOME: &str = "HOME";
const PATH: &str = "PATH";
const XDG_STATE_HOME: &str = "XDG_STATE_HOME";

/// Where some clients keep their transcripts.
pub(crate) const XDG_DATA_HOME: &str = "XDG_DATA_HOME";

#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub(crate) fn read(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// The same, if it is UTF-8.
pub(crate) fn text(name: &str) -> Option<String> {
    read(name)?.into_string().ok()
}

/// What Slurm calls the job that this runs in: a number, and for one of an array its place in it. Empty outside of a job.
pub(crate) fn slurm_job() -> String {
    let text = |name| read(name).map(|value| value.to_string_lossy().into_owned());
    match (text("SLURM_ARRAY_JOB_ID"), text("SLURM_ARRAY_TASK_ID")) {
        (Some(array), Some(place)) => format!("{array}_{place}"),
        _ => text("SLURM_JOB_ID").unwrap_or_default(),
    }
}

/// Where a node without the project's folder puts what it needs. What the login node says of its own disks may not be so here.
#[cfg(feature = "s3")]
pub(crate) fn node_scratch() -> PathBuf {
    let usual = temporary_directory();
    if usual.is_dir() { usual } else { PathBuf::from("/tmp") }
}

/// Where Slurm puts what a job prints on such a node.
#[cfg(feature = "s3")]
pub(crate) fn node_log() -> PathBuf {
    let job = read("SLURM_JOB_ID").map(|job| job.to_string_lossy().into_owned()).unwrap_or_default();
    PathBuf::from(run::executor::slurm::NODE_LOG.replace("%j", &job))
}

/// What this machine is called, by Slurm or by itself.
pub(crate) fn node_name() -> String {
    let given = read("SLURMD_NODENAME").map(|name| name.to_string_lossy().into_owned());
    given.unwrap_or_else(machine::host_name)
}

/// All of it, for the stages of a run.
pub(crate) fn all() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// Whether one of the clients runs this as a tool of its agent.
pub(crate) fn is_called_by_agent() -> bool {
    of_callers().any(|variable| read(variable).is_some())
}

/// The variables by which the clients tell their tools who calls.
pub(crate) fn of_callers() -> impl Iterator<Item = &'static str> {
    let variables = Agent::ALL.into_iter().map(|agent| &host(agent).variables);
    variables.flat_map(|of| [of.session, of.calls]).flatten()
}

/// In which form the client that calls a hook takes a hold.
pub(crate) fn hold_form(agent: Agent) -> HoldForm {
    HoldForm::of_harness(agent, &read(HARNESS).unwrap_or_default().to_string_lossy())
}

/// Whether the hooks are switched off altogether.
pub(crate) fn is_switched_off() -> bool {
    read(SWITCH).is_some_and(|value| value.eq_ignore_ascii_case("off"))
}

/// The first program of this name in the folders of `PATH`. Relative folders do not count: they would be the
/// repository's.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    files::find_program(OsStr::new(name), &read(PATH)?)
}

/// The git that every command and hook uses.
pub(crate) fn git() -> GitProgram {
    GitProgram::in_path(&read(PATH).unwrap_or_default())
}

/// What a stop is told of the machine and the user.
pub(crate) fn stop_settings(state: PathBuf, git_limit: Duration) -> StopSettings {
    StopSettings {
        state,
        user_file: configuration_file(),
        home: home(),
        git: git().within(git_limit),
        slug: read(SLUG).and_then(|slug| slug.into_string().ok()),
    }
}

/// The user's home, where it is set.
pub(crate) fn home() -> Option<PathBuf> {
    read(HOME).map(PathBuf::from)
}

pub(crate) fn temporary_directory() -> PathBuf {
    let set = read(TMPDIR).map(PathBuf::from).filter(|path| path.is_absolute());
    set.unwrap_or_else(|| PathBuf::from("/tmp"))
}

/// `None` if there is no home to keep anything in.
pub(crate) fn state_directory() -> Option<PathBuf> {
    if let Some(directory) = read(STATE_DIRECTORY) {
        return Some(PathBuf::from(directory));
    }
    Some(base(XDG_STATE_HOME, ".local/state")?.join("checkstone"))
}

/// The user's own configuration.
pub(crate) fn configuration_file() -> Option<PathBuf> {
    Some(base(XDG_CONFIG_HOME, ".config")?.join("checkstone/config.toml"))
}

/// Relative folders in these variables do not count, as the XDG specification says.
pub(crate) fn base(variable: &str, under_home: &str) -> Option<PathBuf> {
    let set = read(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    set.or_else(|| Some(PathBuf::from(read(HOME)?).join(under_home)))
}

/// The user's time zone, from the files that the C library reads: nothing of it is built in. UTC where none is known, as there.
pub(crate) fn time_zone() -> TimeZone {
    const MACHINE: &str = "/etc/localtime";
    const ZONES: &str = "/usr/share/zoneinfo";
    let of_file = |path: &Path| TimeZone::tzif("local", &fs_err::read(path).ok()?).ok();
    let named = read(TIME_ZONE).and_then(|name| name.into_string().ok());
    let zone = match named.as_deref().map(|name| name.strip_prefix(':').unwrap_or(name)) {
        None => of_file(Path::new(MACHINE)),
        Some("") => None,
        // An absolute path stays what it is.
        Some(name) => of_file(&Path::new(ZONES).join(name)).or_else(|| TimeZone::posix(name).ok()),
    };
    zone.unwrap_or(TimeZone::UTC)
}
