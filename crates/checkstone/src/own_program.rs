//! The path by which clients are to call this program. It has to stay valid as long as possible: a name on the `PATH`
//! or a link that an update changes is better than the place that it leads to now.

use std::path::{Component, Path, PathBuf};

use crate::environment;
use crate::error::CommandError;

#[derive(Debug)]
pub(crate) struct OwnProgram {
    pub(crate) path: String,
    /// Something that a person should know of it.
    pub(crate) note: Option<String>,
}

impl OwnProgram {
    pub(crate) fn find() -> Result<Self, CommandError> {
        let running = std::env::current_exe().and_then(|path| path.canonicalize()).map_err(|error| {
            CommandError::environment(format!("this program cannot find its own file: {error}"))
        })?;
        let is_named = |path: &Path| path.file_name().is_some_and(|name| name == "checkstone");
        let is_this =
            |path: &PathBuf| is_named(path) && path.canonicalize().is_ok_and(|target| target == running);
        let called_by_path = || {
            let called = PathBuf::from(std::env::args_os().next()?);
            let is_plain = called.components().all(|part| part != Component::ParentDir);
            let path = std::path::absolute(&called).ok()?;
            (is_plain && called.components().count() > 1).then_some(path)
        };
        let path = environment::program("checkstone")
            .filter(is_this)
            .or_else(|| called_by_path().filter(is_this))
            .unwrap_or_else(|| running.clone());
        if !is_named(&path) {
            return Err(CommandError::environment(format!(
                "`{}` is not called `checkstone`",
                path.display()
            ))
            .hint("rename it: its entries in settings are recognised by that name"));
        }
        let Some(text) = path.to_str() else {
            return Err(CommandError::environment(format!("`{}` is not UTF-8", path.display()))
                .hint("move the program: settings files can only hold UTF-8 paths"));
        };
        let short_lived = is_build(&running)
            .then_some("in a build folder, and will be gone after `cargo clean`")
            .or_else(|| is_cached(&running).then_some("in a cache, and will be gone when that is cleared"));
        let note = short_lived
            .map(|why| format!("`{text}` is {why}: install the program first, and run `init` from there"));
        Ok(Self { path: text.to_owned(), note })
    }
}

/// Whether a package manager put it there for one call, as `npx` and `uvx` do: npm has a folder of its own for that, others use
/// the person's folder for caches or the one for temporary files.
fn is_cached(program: &Path) -> bool {
    let caches =
        [environment::base(environment::XDG_CACHE_HOME, ".cache"), Some(environment::temporary_directory())];
    let caches = caches.into_iter().flatten().filter_map(|folder| folder.canonicalize().ok());
    program.components().any(|part| part.as_os_str() == "_npx")
        || caches.into_iter().any(|folder| program.starts_with(folder))
}

/// Whether cargo built it there: beside it are the parts that it was linked from.
fn is_build(program: &Path) -> bool {
    program
        .parent()
        .is_some_and(|folder| folder.join("deps").is_dir() && folder.join(".fingerprint").is_dir())
}
