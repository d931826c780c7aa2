//! Kernels in the Python environment of the tests.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kernel::{ExecutedCell, Kernel, Launch, Spool};
use sandbox::wait_for_file;
use serde_json::Value;
use supervise::{Controls, Grace, Isolation, Limits, Observed};

use crate::python::python;

/// A project folder with a kernel that was started in it.
pub(crate) struct Session {
    pub(crate) kernel: Kernel,
    pub(crate) project: PathBuf,
    pub(crate) observed: Vec<Observed>,
    _folder: tempfile::TempDir,
}

impl Session {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            kernel: start(folder.path()),
            project: folder.path().to_owned(),
            observed: Vec::new(),
            _folder: folder,
        }
    }

    /// A fresh kernel in the same project, as after a crash.
    pub(crate) fn restart(self) -> Self {
        let Self { kernel, project, _folder, .. } = self;
        kernel.kill();
        Self { kernel: start(&project), project, observed: Vec::new(), _folder }
    }

    pub(crate) fn spool(&self) -> Spool {
        Spool::new(&self.project.join("output.log"), "output.log")
    }

    pub(crate) fn execute(&mut self, code: &str) -> ExecutedCell {
        self.execute_within(
            code,
            &Limits { max_duration: Some(Duration::from_secs(120)), ..Limits::default() },
        )
    }

    pub(crate) fn execute_within(&mut self, code: &str, limits: &Limits) -> ExecutedCell {
        let controls = Controls::new().unwrap();
        let spool = self.spool();
        let observed = &mut self.observed;
        self.kernel.execute(code, &spool, limits, &controls, &mut |seen| observed.push(seen)).unwrap()
    }

    /// Aborted as soon as the cell has written this file.
    pub(crate) fn execute_until_file(&mut self, file: &str, code: &str, grace: &Grace) -> ExecutedCell {
        let limits = Limits { grace: *grace, ..Limits::default() };
        let controls = Controls::new().unwrap();
        let spool = self.spool();
        let file = self.project.join(file);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let _abort = AbortAtEnd(&controls);
                wait_for_file(&file);
            });
            let observed = &mut self.observed;
            self.kernel.execute(code, &spool, &limits, &controls, &mut |seen| observed.push(seen)).unwrap()
        })
    }

    /// What an expression comes to, as JSON.
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let code = format!("RESULT = eval({expression:?}, get_ipython().user_ns)");
        self.kernel.run_apart(&code, &[], Duration::from_secs(60)).unwrap()
    }
}

/// Also if nobody sees what is waited for: the cell would run for ever.
struct AbortAtEnd<'a>(&'a Controls);

impl Drop for AbortAtEnd<'_> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

pub(crate) fn launch(project: &Path) -> Launch {
    let words = ["-m", "ipykernel_launcher", "-f", "{connection_file}"].map(OsString::from);
    Launch {
        argv: std::iter::once(python().as_os_str().to_owned()).chain(words).collect(),
        environment: vec![
            ("PATH".into(), "/usr/bin:/bin".into()),
            ("HOME".into(), project.into()),
            ("IPYTHONDIR".into(), project.join(".ipython").into()),
        ],
        directory: project.to_owned(),
        scratch: std::env::temp_dir(),
        log: project.join("kernel.log"),
        record: project.join("kernel.json"),
        isolation: Isolation::Best,
        patience: Duration::from_secs(120),
    }
}

fn start(project: &Path) -> Kernel {
    Kernel::start(&launch(project), &Controls::new().unwrap()).unwrap()
}

/// One second, and then a short escalation.
pub(crate) fn hurried() -> Limits {
    let grace = Grace {
        interrupt: Some(Duration::from_secs(3)),
        terminate: Some(Duration::from_secs(1)),
        ..Grace::default()
    };
    Limits { max_duration: Some(Duration::from_secs(1)), grace, ..Limits::default() }
}

/// All the text that a cell put out, in order.
pub(crate) fn text_of(executed: &ExecutedCell) -> String {
    let texts = executed.outputs.iter().filter_map(|output| output["text"].as_str());
    texts.collect()
}
