//! A path as people write it.

use std::path::Path;

use transcript::visible;

use crate::environment;

/// A path as people write it: with `~` where it lies in their home.
pub(crate) fn home_relative(path: &Path) -> String {
    let inside = environment::home().and_then(|home| path.strip_prefix(home).ok().map(Path::to_owned));
    match inside {
        Some(inside) => visible(&format!("~/{}", inside.display())),
        None => visible(&path.to_string_lossy()),
    }
}
