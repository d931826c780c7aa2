//! What a bucket costs beside the folder alone: saving and bringing back one large artifact, and a thousand small ones. The
//! service runs on this machine, so that it is the work that is measured and not a network.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::percentile;
use super::row::Row;
use crate::cluster;
use crate::process;
use crate::root;

const ROUNDS: u8 = 3;

pub(crate) fn run(program: Option<PathBuf>, megabytes: usize) -> Result<Vec<Row>, String> {
    let program = match program {
        Some(program) => fs_err::canonicalize(program).map_err(told)?,
        None => build()?,
    };
    let parts = ["seaweedfs".to_owned()];
    let variables = cluster::up(&parts)?;
    let bench = StoresBench { program, variables };
    let measured = bench.rows(megabytes);
    cluster::run(cluster::ClusterCommand::Down { parts: parts.to_vec() })?;
    let rows = measured?;
    for row in &rows {
        println!("{row}");
    }
    Ok(rows)
}

fn build() -> Result<PathBuf, String> {
    println!("building…");
    let features = ["build", "--release", "--package", "checkstone", "--features", "full,postgres,s3"];
    process::cargo(&features)?;
    Ok(root().join("target/release/checkstone"))
}

fn told(error: std::io::Error) -> String {
    error.to_string()
}

struct StoresBench {
    program: PathBuf,
    variables: Vec<(String, String)>,
}

impl StoresBench {
    fn rows(&self, megabytes: usize) -> Result<Vec<Row>, String> {
        let large = (format!("one artifact of {megabytes} MB"), vec![megabytes << 20]);
        let small = ("1,000 artifacts of 1 kB".to_owned(), vec![1000; 1000]);
        let mut rows = Vec::new();
        for (name, sizes) in [large, small] {
            let (mut folder, mut bucket) = (Vec::new(), Vec::new());
            for round in 0..ROUNDS {
                folder.push(self.save(&sizes, round, &[])?);
                bucket.push(self.save(&sizes, round, &self.variables)?);
            }
            let [ours, peer] = [&bucket, &folder].map(|times| percentile(times, 50));
            rows.push(Row::told(format!("saving {name} with a bucket"), ours, "the folder alone", peer));
        }
        Ok(rows)
    }

    /// The time of saving new artifacts in a project that is new.
    fn save(&self, sizes: &[usize], round: u8, variables: &[(String, String)]) -> Result<Duration, String> {
        let place = root().join("target/bench");
        fs_err::create_dir_all(&place).map_err(told)?;
        let project = tempfile::tempdir_in(place).map_err(told)?;
        fs_err::create_dir(project.path().join(".git")).map_err(told)?;
        let mut names = Vec::new();
        for (number, size) in sizes.iter().enumerate() {
            let name = format!("artifact-{number}");
            let block: Vec<u8> =
                (0..*size.min(&(1 << 20))).map(|place| (place as u8).wrapping_mul(31) ^ round).collect();
            let mut content = block.repeat(size.div_ceil(block.len().max(1)));
            content.extend_from_slice(&number.to_le_bytes());
            fs_err::write(project.path().join(&name), content).map_err(told)?;
            names.push(name);
        }
        let began = Instant::now();
        process::output(&mut self.command(project.path(), &names, variables))?;
        Ok(began.elapsed())
    }

    fn command(&self, project: &Path, names: &[String], variables: &[(String, String)]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["checkpoint", "save", "--title=bench", "--run=run-1", "--stage=S01_load_data"]);
        command.args(names).envs(variables.to_vec()).env("XDG_CONFIG_HOME", project);
        command.current_dir(project).stdin(Stdio::null());
        command
    }
}
