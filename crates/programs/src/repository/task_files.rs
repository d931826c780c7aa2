//! The files in which repositories define tasks, one reader per format: a text in, tasks with their bodies out. What a
//! text does not say in its usual form is left out.

mod recipe;
mod yaml;

use serde_json::Value as Json;
use toml::Value as Toml;

use super::{OnceIntents, Task, TaskRunner};
use crate::table::matches_glob;
use recipe::Recipe;
use yaml::Yaml;

/// Of one file; more were generated.
const MOST_TASKS: usize = 300;
/// Of one task; what is longer is cut at a line.
const LONGEST_BODY: usize = 4000;

/// Reads the tasks out of a text; the folder is that of its file.
type TaskReader = fn(&str) -> Vec<Found>;

/// A task as a file says it.
#[derive(Default)]
struct Found {
    runner: Option<TaskRunner>,
    name: String,
    body: String,
    needs: Vec<String>,
    /// Where the step of a workflow runs, from the folder of the file.
    folder: String,
}

/// Where a file lies below the folder that its tasks belong to, `*` for any text; whose tasks they are; who reads them.
const FORMATS: &[(&str, TaskRunner, TaskReader)] = &[
    ("package.json", TaskRunner::PackageScript, package_scripts),
    ("project.json", TaskRunner::Nx, nx_targets),
    ("composer.json", TaskRunner::Composer, composer_scripts),
    ("deno.json", TaskRunner::Deno, deno_tasks),
    ("deno.jsonc", TaskRunner::Deno, deno_tasks),
    ("devbox.json", TaskRunner::Devbox, devbox_scripts),
    ("Makefile", TaskRunner::Make, make_targets),
    ("makefile", TaskRunner::Make, make_targets),
    ("GNUmakefile", TaskRunner::Make, make_targets),
    ("justfile", TaskRunner::Just, just_recipes),
    ("Justfile", TaskRunner::Just, just_recipes),
    (".justfile", TaskRunner::Just, just_recipes),
    ("Taskfile.yml", TaskRunner::Taskfile, taskfile_tasks),
    ("Taskfile.yaml", TaskRunner::Taskfile, taskfile_tasks),
    ("taskfile.yml", TaskRunner::Taskfile, taskfile_tasks),
    ("mise.toml", TaskRunner::Mise, toml_tasks),
    (".mise.toml", TaskRunner::Mise, toml_tasks),
    ("mise/config.toml", TaskRunner::Mise, toml_tasks),
    (".mise/config.toml", TaskRunner::Mise, toml_tasks),
    (".config/mise.toml", TaskRunner::Mise, toml_tasks),
    (".config/mise/config.toml", TaskRunner::Mise, toml_tasks),
    ("mise-tasks/*", TaskRunner::Mise, mise_task_file),
    (".mise-tasks/*", TaskRunner::Mise, mise_task_file),
    ("mise/tasks/*", TaskRunner::Mise, mise_task_file),
    (".mise/tasks/*", TaskRunner::Mise, mise_task_file),
    (".config/mise/tasks/*", TaskRunner::Mise, mise_task_file),
    ("pixi.toml", TaskRunner::Pixi, toml_tasks),
    ("pyproject.toml", TaskRunner::Poe, pyproject_tasks),
    ("tox.ini", TaskRunner::Tox, tox_environments),
    ("noxfile.py", TaskRunner::Nox, nox_sessions),
    ("Rakefile", TaskRunner::Rake, rake_tasks),
    (".cargo/config.toml", TaskRunner::Cargo, cargo_aliases),
    ("moon.yml", TaskRunner::Moon, moon_tasks),
    ("lefthook.yml", TaskRunner::CommitHook, lefthook_commands),
    (".lefthook.yml", TaskRunner::CommitHook, lefthook_commands),
    (".husky/pre-commit", TaskRunner::CommitHook, hook_script),
    (".githooks/pre-commit", TaskRunner::CommitHook, hook_script),
    (".pre-commit-config.yaml", TaskRunner::CommitHook, pre_commit_hooks),
    (".github/workflows/*.yml", TaskRunner::Workflow, workflow_steps),
    (".github/workflows/*.yaml", TaskRunner::Workflow, workflow_steps),
    (".gitlab-ci.yml", TaskRunner::Workflow, gitlab_jobs),
];

/// The format of a file, and the folder that its tasks belong to.
fn format_of(path: &str) -> Option<(&str, &'static (&'static str, TaskRunner, TaskReader))> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_near = |format: &&(&str, TaskRunner, TaskReader)| {
        format.0.rsplit('/').next().is_some_and(|last| matches_glob(last, name))
    };
    FORMATS.iter().filter(is_near).find_map(|format| {
        let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
        // `*` at the end stands for files in folders below too.
        let fits = |at: &usize| path.get(*at..).is_some_and(|end| matches_glob(format.0, end));
        let at = starts.take_while(|at| *at < path.len()).find(fits)?;
        Some((path.get(..at).unwrap_or_default().trim_end_matches('/'), format))
    })
}

/// Whether a file defines tasks.
pub(super) fn defines_tasks(path: &str) -> bool {
    format_of(path).is_some()
}

/// The tasks that a file defines.
pub(super) fn read(path: &str, text: &str) -> Vec<Task> {
    let Some((folder, (glob, runner, reader))) = format_of(path) else { return Vec::new() };
    // A task that is a file is called as its path below the folder of tasks.
    let below = path.get(folder.len()..).unwrap_or_default().trim_start_matches('/');
    let own = below.strip_prefix(glob.trim_end_matches('*')).unwrap_or(below);
    let file_name = own.trim_end_matches(".sh").replace('/', ":");
    let task = |found: Found| Task {
        runner: found.runner.unwrap_or(*runner),
        file: if found.name.is_empty() { path.to_owned() } else { String::new() },
        name: if found.name.is_empty() { file_name.clone() } else { found.name },
        folder: crate::shell::one_spelling(folder, &found.folder),
        body: shortened(found.body),
        needs: found.needs,
        understood: OnceIntents::default(),
    };
    reader(text).into_iter().take(MOST_TASKS).map(task).collect()
}

fn shortened(mut body: String) -> String {
    if body.len() > LONGEST_BODY {
        let end = body
            .char_indices()
            .take_while(|(at, _)| *at <= LONGEST_BODY)
            .filter(|(_, one)| *one == '\n')
            .last();
        body.truncate(end.map_or(0, |(at, _)| at));
    }
    body
}

impl Found {
    fn new(name: &str, body: impl Into<String>) -> Self {
        Self { name: name.to_owned(), body: body.into(), ..Self::default() }
    }

    fn of(runner: TaskRunner, name: &str, body: impl Into<String>) -> Self {
        Self { runner: Some(runner), ..Self::new(name, body) }
    }
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&without_comments(text))).unwrap_or_default()
}

/// Lines that are comments, and commas before a bracket, which JSON does not know and its users write.
fn without_comments(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let text = lines.collect::<Vec<_>>().join("\n");
    let mut plain = String::with_capacity(text.len());
    for piece in text.split_inclusive(',') {
        plain.push_str(piece);
        let rest = text.get(plain.len()..).unwrap_or_default().trim_start();
        if piece.ends_with(',') && rest.starts_with(['}', ']']) {
            // As long as before, so that places stay the same.
            plain.pop();
            plain.push(' ');
        }
    }
    plain
}

fn entries(value: Option<&Json>) -> impl Iterator<Item = (&str, &Json)> {
    let entries = value.and_then(Json::as_object).into_iter().flatten();
    entries.map(|(name, value)| (name.as_str(), value))
}

/// A text, or several that run one after the other.
fn json_lines(value: &Json) -> String {
    match value {
        Json::Array(items) => items.iter().filter_map(Json::as_str).collect::<Vec<_>>().join(" && "),
        value => value.as_str().unwrap_or_default().to_owned(),
    }
}

fn package_scripts(text: &str) -> Vec<Found> {
    let document = json(text);
    let scripts = entries(document.get("scripts"));
    scripts.filter_map(|(name, body)| Some(Found::new(name, body.as_str()?))).collect()
}

fn nx_targets(text: &str) -> Vec<Found> {
    let document = json(text);
    let body = |target: &Json| {
        let command = target.get("command").or_else(|| target.pointer("/options/command"));
        // What an executor runs is known by the name of its target alone.
        command.or_else(|| target.get("executor")).and_then(Json::as_str).unwrap_or("executor").to_owned()
    };
    entries(document.get("targets")).map(|(name, target)| Found::new(name, body(target))).collect()
}

fn composer_scripts(text: &str) -> Vec<Found> {
    let document = json(text);
    // `@php` and `@composer` are programs, any other is a script.
    let spelled = |body: &Json| {
        let line = |line: &str| match line.strip_prefix('@') {
            Some(rest) if rest.starts_with("php ") || rest.starts_with("composer ") => rest.to_owned(),
            Some(script) => format!("composer run {script}"),
            None => line.to_owned(),
        };
        let lines = json_lines(body);
        lines.split(" && ").map(line).collect::<Vec<_>>().join(" && ")
    };
    entries(document.get("scripts")).map(|(name, body)| Found::new(name, spelled(body))).collect()
}

fn deno_tasks(text: &str) -> Vec<Found> {
    let document = json(text);
    let task = |(name, task): (&str, &Json)| Found {
        needs: task
            .get("dependencies")
            .and_then(Json::as_array)
            .into_iter()
            .flatten()
            .filter_map(Json::as_str)
            .map(str::to_owned)
            .collect(),
        ..Found::new(name, json_lines(task.get("command").unwrap_or(task)))
    };
    entries(document.get("tasks")).map(task).collect()
}

fn devbox_scripts(text: &str) -> Vec<Found> {
    let document = json(text);
    entries(document.pointer("/shell/scripts"))
        .map(|(name, body)| Found::new(name, json_lines(body)))
        .collect()
}

fn recipes(recipes: Vec<Recipe>) -> Vec<Found> {
    let found = |recipe: Recipe| Found { needs: recipe.needs, ..Found::new(&recipe.name, recipe.body) };
    recipes.into_iter().map(found).collect()
}

fn make_targets(text: &str) -> Vec<Found> {
    recipes(recipe::make(text))
}

fn just_recipes(text: &str) -> Vec<Found> {
    recipes(recipe::just(text))
}

fn toml_document(text: &str) -> Toml {
    Toml::Table(text.parse().unwrap_or_default())
}

fn at<'a>(value: &'a Toml, path: &str) -> Option<&'a Toml> {
    path.split('.').try_fold(value, |value, key| value.get(key))
}

fn table(value: Option<&Toml>) -> impl Iterator<Item = (&str, &Toml)> {
    value.and_then(Toml::as_table).into_iter().flatten().map(|(name, value)| (name.as_str(), value))
}

fn strings(value: Option<&Toml>) -> Vec<String> {
    match value {
        Some(Toml::Array(items)) => items.iter().filter_map(Toml::as_str).map(str::to_owned).collect(),
        Some(value) => value.as_str().into_iter().map(str::to_owned).collect(),
        None => Vec::new(),
    }
}

/// The first line of a body that runs in another folder than that of its file, unless the folder is to be filled in.
fn change_of_folder(folder: Option<&str>) -> Option<String> {
    folder.filter(|folder| !folder.contains("{{")).map(|folder| format!("cd '{folder}'"))
}

/// A task of mise, pixi, poe, pdm or rye: a text, a list, or a table with the command under one of a few names.
fn toml_task(name: &str, task: &Toml, runner: Option<TaskRunner>) -> Found {
    let keys = ["run", "cmd", "shell", "sequence", "composite", "chain", "script"];
    let command = keys.iter().find_map(|key| task.get(key));
    let mut lines = strings(command.or(Some(task)));
    // Poe's and pdm's lists name other tasks.
    let refers = command.is_none() && task.is_array()
        || ["sequence", "composite", "chain"].iter().any(|key| task.get(key).is_some());
    let mut needs: Vec<String> = ["depends", "depends-on", "depends_on", "deps"]
        .iter()
        .flat_map(|key| strings(task.get(key)))
        .collect();
    if refers && runner.is_some_and(|runner| runner != TaskRunner::Mise) {
        needs.append(&mut lines.iter().filter(|line| !line.contains(' ')).cloned().collect());
        lines.retain(|line| line.contains(' '));
    }
    let folder = ["dir", "cwd"].iter().find_map(|key| task.get(key)?.as_str());
    let lines: Vec<String> = change_of_folder(folder).into_iter().chain(lines).collect();
    Found { runner, needs, ..Found::new(name, lines.join(" && ")) }
}

fn toml_tasks(text: &str) -> Vec<Found> {
    let document = toml_document(text);
    table(document.get("tasks")).map(|(name, task)| toml_task(name, task, None)).collect()
}

/// A script with its needs in comments: `#MISE depends=["build"]`.
fn mise_task_file(text: &str) -> Vec<Found> {
    let marks =
        text.lines().filter_map(|line| line.strip_prefix("#MISE ").or_else(|| line.strip_prefix("# mise ")));
    let needs =
        marks.filter_map(|mark| mark.strip_prefix("depends=").or_else(|| mark.strip_prefix("depends = ")));
    let needs =
        needs.flat_map(|list| list.split('"').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>());
    vec![Found { needs: needs.collect(), ..Found::new("", text) }]
}

fn pyproject_tasks(text: &str) -> Vec<Found> {
    let document = toml_document(text);
    let mut found = Vec::new();
    for (path, runner) in [
        ("tool.poe.tasks", TaskRunner::Poe),
        ("tool.pdm.scripts", TaskRunner::Pdm),
        ("tool.rye.scripts", TaskRunner::Rye),
        ("tool.pixi.tasks", TaskRunner::Pixi),
        ("tool.taskipy.tasks", TaskRunner::Taskfile),
    ] {
        found.extend(table(at(&document, path)).map(|(name, task)| toml_task(name, task, Some(runner))));
    }
    for (environment, settings) in table(at(&document, "tool.hatch.envs")) {
        for (name, script) in table(settings.get("scripts")) {
            let body = strings(Some(script)).join(" && ");
            found.push(Found::of(TaskRunner::Hatch, &format!("{environment}:{name}"), body.as_str()));
            found.push(Found::of(TaskRunner::Hatch, name, body));
        }
    }
    if let Some(old) = at(&document, "tool.tox.legacy_tox_ini").and_then(Toml::as_str) {
        found.extend(
            tox_environments(old).into_iter().map(|task| Found { runner: Some(TaskRunner::Tox), ..task }),
        );
    }
    for (name, environment) in table(at(&document, "tool.tox.env")) {
        let commands = environment.get("commands").and_then(Toml::as_array).into_iter().flatten();
        let lines: Vec<String> = commands.map(|command| strings(Some(command)).join(" ")).collect();
        found.push(Found::of(TaskRunner::Tox, name, lines.join(" && ")));
    }
    found
}

/// `[testenv:lint]` with `commands =` and lines that are indented.
fn tox_environments(text: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut in_commands = false;
    for line in text.lines() {
        if let Some(section) = line.strip_prefix('[') {
            let name = section.trim_end().trim_end_matches(']');
            in_commands = false;
            if let Some(name) = name.strip_prefix("testenv:") {
                found.push(Found::new(name, "set -e\n"));
            } else {
                // What stands in `[testenv]` is the run of tests that the table knows.
                found.push(Found::new("testenv", ""));
            }
        } else if let Some(rest) =
            line.strip_prefix("commands").map(str::trim_start).and_then(|rest| rest.strip_prefix('='))
        {
            in_commands = true;
            command_line(&mut found, rest);
        } else if line.starts_with([' ', '\t']) && in_commands {
            command_line(&mut found, line);
        } else {
            in_commands = false;
        }
    }
    found.retain(|task| task.name != "testenv");
    found
}

fn command_line(found: &mut [Found], line: &str) {
    let line = line.trim().trim_start_matches("- ");
    if let Some(task) = found.last_mut().filter(|_| !line.is_empty() && !line.starts_with('#')) {
        task.body.push_str(&line.replace(['{', '}'], "_"));
        task.body.push('\n');
    }
}

/// `session.run("pytest", "-q")` in functions under `@nox.session`.
fn nox_sessions(text: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    let mut lines = text.lines().peekable();
    let mut named = None;
    while let Some(line) = lines.next() {
        let trimmed = line.trim();
        if trimmed.starts_with("@nox.session") || trimmed.starts_with("@session") {
            let name = trimmed.split_once("name=").and_then(|(_, rest)| rest.split(['"', '\'']).nth(1));
            named = Some(name.map(str::to_owned));
        } else if let Some(name) = line.strip_prefix("def ") {
            let name = name.split('(').next().unwrap_or_default();
            if let Some(given) = named.take() {
                found.push(Found::new(&given.unwrap_or_else(|| name.to_owned()), "set -e\n"));
            }
        } else if let (Some(rest), Some(task)) = (trimmed.strip_prefix("session.run("), found.last_mut()) {
            let mut call = rest.to_owned();
            while !call.contains(')')
                && let Some(more) = lines.next()
            {
                call.push_str(more);
            }
            let quote = if call.contains('"') { '"' } else { '\'' };
            let words: Vec<&str> = call.split(quote).skip(1).step_by(2).collect();
            task.body.push_str(&words.join(" "));
            task.body.push('\n');
        }
    }
    found
}

/// `task :name => [:a, :b]`, `task default: %w[a b]`, `RSpec::Core::RakeTask.new(:spec)`, and `sh "…"` in them.
fn rake_tasks(text: &str) -> Vec<Found> {
    let mut found: Vec<Found> = Vec::new();
    for line in text.lines().map(str::trim) {
        let name_of = |rest: &str| {
            let end = rest.find(|one: char| one != '_' && !one.is_alphanumeric()).unwrap_or(rest.len());
            (rest.get(..end).unwrap_or_default().to_owned(), rest.get(end..).unwrap_or_default().to_owned())
        };
        if let Some(rest) = line.strip_prefix("task ") {
            let (name, rest) = name_of(rest.trim_start_matches([':', '"', '\'', '(']));
            let words = rest.split(|one: char| one != '_' && !one.is_alphanumeric());
            let needs =
                words.filter(|word| !word.is_empty() && !matches!(*word, "do" | "w" | "i" | "t" | "args"));
            found.push(Found { needs: needs.map(str::to_owned).collect(), ..Found::new(&name, "set -e") });
        } else if let Some((kind, rest)) = line.split_once("Task.new") {
            let (name, _) = name_of(rest.trim_start_matches(['(', ':', ' ', '"', '\'']));
            let (body, usual) = match kind {
                kind if kind.contains("RSpec") => ("rspec", "spec"),
                kind if kind.contains("RuboCop") => ("rubocop", "rubocop"),
                _ => ("ruby -Itest all_test.rb", "test"),
            };
            found.push(Found::new(if name.is_empty() || name == "do" { usual } else { &name }, body));
        } else if let (Some(command), Some(task)) =
            (line.strip_prefix("sh ").or_else(|| line.strip_prefix("sh(")), found.last_mut())
        {
            task.body.push('\n');
            task.body.push_str(command.split(['"', '\'']).nth(1).unwrap_or_default());
        }
    }
    found
}

fn cargo_aliases(text: &str) -> Vec<Found> {
    let document = toml_document(text);
    let alias =
        |(name, words): (&str, &Toml)| Found::new(name, format!("cargo {}", strings(Some(words)).join(" ")));
    table(document.get("alias")).map(alias).collect()
}

fn taskfile_tasks(text: &str) -> Vec<Found> {
    let document = Yaml::read(text);
    let line = |command: &Yaml| match command {
        Yaml::Text(text) => text.clone(),
        command => {
            match (command.get("cmd").and_then(Yaml::text), command.get("task").and_then(Yaml::text)) {
                (Some(command), _) => command.to_owned(),
                (None, Some(task)) => format!("task {task}"),
                _ => String::new(),
            }
        }
    };
    let task = |(name, task): &(String, Yaml)| {
        let commands = task.get("cmds").or_else(|| task.get("cmd")).unwrap_or(task);
        let mut lines = vec!["set -e".to_owned()];
        lines.extend(change_of_folder(task.get("dir").and_then(Yaml::text)));
        match commands {
            Yaml::List(items) => lines.extend(items.iter().map(line)),
            Yaml::Text(text) => lines.push(text.clone()),
            Yaml::Map(_) => {}
        }
        let needs = task.get("deps").map(|needs| {
            needs
                .items()
                .iter()
                .map(|need| need.text().or_else(|| need.get("task")?.text()).unwrap_or_default().to_owned())
        });
        Found { needs: needs.into_iter().flatten().collect(), ..Found::new(name, lines.join("\n")) }
    };
    document.get("tasks").map(Yaml::entries).unwrap_or_default().iter().map(task).collect()
}

fn moon_tasks(text: &str) -> Vec<Found> {
    let document = Yaml::read(text);
    let tasks = document.get("tasks").map(Yaml::entries).unwrap_or_default().iter();
    let words = |task: &Yaml, key: &str| task.get(key).map(Yaml::texts).unwrap_or_default().join(" ");
    let body = |task: &Yaml| {
        let script = words(task, "script");
        if script.is_empty() { format!("{} {}", words(task, "command"), words(task, "args")) } else { script }
    };
    tasks.map(|(name, task)| Found::new(name, body(task))).collect()
}

fn lefthook_commands(text: &str) -> Vec<Found> {
    let document = Yaml::read(text);
    let hook = document.get("pre-commit");
    let commands = hook.and_then(|hook| hook.get("commands")).map(Yaml::entries).unwrap_or_default().iter();
    let jobs = hook.and_then(|hook| hook.get("jobs")).map(Yaml::items).unwrap_or_default().iter();
    let run = |job: &Yaml| Some(Found::new("pre-commit", job.get("run")?.text()?));
    commands.map(|(_, command)| command).chain(jobs).filter_map(run).collect()
}

fn hook_script(text: &str) -> Vec<Found> {
    vec![Found::new("pre-commit", text)]
}

/// Hooks by what they enter, or by their name, which mostly is that of the program.
fn pre_commit_hooks(text: &str) -> Vec<Found> {
    let document = Yaml::read(text);
    let repositories = document.get("repos").map(Yaml::items).unwrap_or_default();
    let hooks = repositories.iter().flat_map(|one| one.get("hooks").map(Yaml::items).unwrap_or_default());
    let hook = |hook: &Yaml| {
        let id = hook.get("id")?.text()?;
        let body = match hook.get("entry").and_then(Yaml::text) {
            Some(entry) => entry.to_owned(),
            None => id.trim_start_matches("mirrors-").replace("ruff-format", "ruff format"),
        };
        Some(Found::new("pre-commit", body))
    };
    hooks.filter_map(hook).collect()
}

fn workflow_steps(text: &str) -> Vec<Found> {
    let document = Yaml::read(text);
    let mut found = Vec::new();
    for (name, job) in document.get("jobs").map(Yaml::entries).unwrap_or_default() {
        for step in job.get("steps").map(Yaml::items).unwrap_or_default() {
            let Some(run) = step.get("run").and_then(Yaml::text) else { continue };
            let folder =
                step.get("working-directory").and_then(Yaml::text).filter(|folder| !folder.contains("${{"));
            found.push(Found { folder: folder.unwrap_or_default().to_owned(), ..Found::new(name, run) });
        }
    }
    found
}

fn gitlab_jobs(text: &str) -> Vec<Found> {
    let document = Yaml::read(text);
    let script = |(name, job): &(String, Yaml)| {
        let lines = job.get("script")?.texts().join("\n");
        Some(Found::new(name, lines))
    };
    document.entries().iter().filter_map(script).collect()
}
