//! Checkpoints by the program as it is handed out: flushes by strace, hashing against `openssl speed sha256` in turns, long
//! lists, the last valid one behind many that are not, and a large set of artifacts that has not changed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use wait4::Wait4 as _;

use super::row::Row;
use super::{milliseconds, percentile};
use crate::process;
use crate::release;
use crate::root;

pub(crate) fn run() -> Result<Vec<Row>, String> {
    println!("building…");
    let bench = CheckpointBench { program: release::build()? };
    bench.flushes()?;
    let rows = vec![bench.hashing()?, bench.lists()?, bench.last_valid()?];
    bench.large()?;
    Ok(rows)
}

struct CheckpointBench {
    program: PathBuf,
}

/// A project folder, removed in the end.
fn project() -> Result<tempfile::TempDir, String> {
    let folder = root().join("target/bench");
    fs_err::create_dir_all(&folder).map_err(told)?;
    let project = tempfile::tempdir_in(folder).map_err(told)?;
    fs_err::create_dir(project.path().join(".git")).map_err(told)?;
    Ok(project)
}

fn told(error: std::io::Error) -> String {
    error.to_string()
}

impl CheckpointBench {
    fn command(&self, project: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("checkpoint").args(arguments).current_dir(project).stdin(Stdio::null());
        command
    }

    fn save(&self, project: &Path, artifacts: &[String], options: &[&str]) -> Command {
        let mut command =
            self.command(project, &["save", "--title=bench", "--run=run-1", "--stage=S01_load_data"]);
        command.args(options).args(artifacts);
        command
    }

    fn time(&self, command: &mut Command) -> Result<Duration, String> {
        let began = Instant::now();
        process::output(command)?;
        Ok(began.elapsed())
    }

    /// The processor's time, which others on the machine do not lengthen; `openssl speed` counts the same.
    fn processor_time(&self, command: &mut Command) -> Result<Duration, String> {
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let used = command.spawn().and_then(|child| child.wait4()).map_err(told)?;
        if !used.status.success() {
            return Err(format!("{command:?} ended with {}", used.status));
        }
        Ok(used.rusage.utime + used.rusage.stime)
    }

    fn flushes(&self) -> Result<(), String> {
        let project = project()?;
        let names: Vec<String> = (0..20).map(|number| format!("artifact-{number}")).collect();
        for name in &names {
            fs_err::write(project.path().join(name), name).map_err(told)?;
        }
        println!("\n| save of 20 artifacts | new | flushes | limit |\n|---|---|---|---|");
        for (what, new) in
            [("first", 20), ("nothing changed", 0), ("three changed", 3), ("nothing changed", 0)]
        {
            if new < 20 {
                for name in names.iter().take(new) {
                    fs_err::write(project.path().join(name), format!("{name} changed")).map_err(told)?;
                }
            }
            let log = project.path().join(".git/strace");
            let plain = self.save(project.path(), &names, &[]);
            let mut traced = Command::new("strace");
            traced
                .args(["-f", "-qq", "-e", "trace=fsync,fdatasync,sync,syncfs,sync_file_range", "-o"])
                .arg(&log);
            traced.arg(plain.get_program()).args(plain.get_args()).current_dir(project.path());
            process::output(&mut traced)?;
            let log = fs_err::read_to_string(&log).map_err(told)?;
            let count = log.lines().filter(|line| line.contains("sync") && !line.contains("resumed")).count();
            println!("| {what} | {new} | {count} | {} |", new + 2);
        }
        Ok(())
    }

    fn hashing(&self) -> Result<Row, String> {
        const SIZE: usize = 512 << 20;
        let project = project()?;
        let names: Vec<String> = (0..2).map(|number| format!("large-{number}")).collect();
        for (number, name) in (0_u8..).zip(&names) {
            let block: Vec<u8> =
                (0..=255_u8).map(|byte| byte.wrapping_mul(31) ^ number).cycle().take(1 << 20).collect();
            fs_err::write(project.path().join(name), block.repeat(SIZE >> 20)).map_err(told)?;
        }
        process::output(&mut self.save(project.path(), &names, &[]))?;
        let (one, both) = (names.get(..1).unwrap_or_default(), names.as_slice());
        let (mut starts, mut singles, mut pairs, mut speeds) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (mut digest_starts, mut digests) = (Vec::new(), Vec::new());
        let digest = |file: &Path| {
            let mut command = Command::new("openssl");
            command.args(["dgst", "-sha256"]).arg(file);
            command
        };
        for _ in 0..7 {
            speeds.push(openssl()?);
            digest_starts.push(self.processor_time(&mut digest(Path::new("/dev/null")))?);
            digests.push(self.processor_time(&mut digest(&project.path().join("large-0")))?);
            starts.push(self.processor_time(&mut self.save(project.path(), &[], &[]))?);
            singles.push(self.processor_time(&mut self.save(project.path(), one, &["--full"]))?);
            pairs.push(self.time(&mut self.save(project.path(), both, &["--full"]))?);
        }
        speeds.sort_by(f64::total_cmp);
        let best = speeds.last().copied().unwrap_or_default();
        let start = percentile(&starts, 0);
        let rate = |times: &[Duration], start: Duration, files: f64| {
            files * SIZE as f64 / percentile(times, 0).saturating_sub(start).as_secs_f64()
        };
        println!(
            "\n| hashing 512 MiB files that are in memory (best of 7) | GB/s | of `openssl speed sha256` |\n|---|---|---|"
        );
        println!("| `openssl speed`, which reads no file, by processor time | {:.2} | |", best / 1e9);
        let by_openssl = rate(&digests, percentile(&digest_starts, 0), 1.0);
        println!(
            "| `openssl dgst` of one file, by processor time | {:.2} | {:.0} % |",
            by_openssl / 1e9,
            by_openssl * 100.0 / best
        );
        let single = rate(&singles, start, 1.0);
        println!(
            "| one file, by processor time | {:.2} | {:.0} % (limit 85 %) |",
            single / 1e9,
            single * 100.0 / best
        );
        let pair = rate(&pairs, start, 2.0);
        println!("| two files at once, by the clock | {:.2} | {:.0} % |", pair / 1e9, pair * 100.0 / best);
        let one_gigabyte = |rate: f64| Duration::from_secs_f64(1e9 / rate.max(1.0));
        let (ours, theirs) = (one_gigabyte(single), one_gigabyte(best));
        Ok(Row::times("hashing 1 GB".to_owned(), ours, "`openssl speed`", theirs, 1.0 / 0.85))
    }

    /// So many checkpoints, made from one that the program saved.
    fn many(&self, project: &Path, count: usize, damage: bool) -> Result<(), String> {
        let artifacts: Vec<String> = (0..5).map(|number| format!("artifact-{number}")).collect();
        for name in &artifacts {
            fs_err::write(project.join(name), name).map_err(told)?;
        }
        process::output(&mut self.save(project, &artifacts, &[]))?;
        let run = project.join("reports/bench/checkpoints/run-1");
        let first = fs_err::read_dir(&run).map_err(told)?.flatten().next().ok_or("nothing was saved")?;
        let id = first.file_name().to_string_lossy().into_owned();
        let text = fs_err::read(first.path().join("checkpoint.json")).map_err(told)?;
        let sealed = checkpoint::manifest::Manifest::parse(&text).map_err(|error| error.to_string())?;
        for number in 2..=count {
            let mut manifest = sealed.manifest.clone();
            manifest.checkpoint_id = id.replacen("000001", &format!("{number:06}"), 1);
            let mut text = manifest.seal().map_err(|error| error.to_string())?.text;
            if damage {
                text = text.replacen("S01_load_data", "S01_load_dat?", 1);
            }
            let folder = run.join(&manifest.checkpoint_id);
            fs_err::create_dir(&folder).map_err(told)?;
            fs_err::write(folder.join("checkpoint.json"), text).map_err(told)?;
        }
        Ok(())
    }

    fn lists(&self) -> Result<Row, String> {
        let project = project()?;
        self.many(project.path(), 10_000, false)?;
        let times = self.times(project.path(), &["list", "--json"])?;
        println!(
            "\nList of 10,000 checkpoints: best {:.0} ms, p50 {:.0} ms (limit 100 ms).",
            times.0, times.1
        );
        Ok(Row::at_most("list of 10,000 checkpoints".to_owned(), times.0, 100.0, "ms"))
    }

    fn last_valid(&self) -> Result<Row, String> {
        let project = project()?;
        self.many(project.path(), 1_000, true)?;
        let answer = process::output(&mut self.command(project.path(), &["resume", "--json"]))?;
        if !answer.contains("\"searchedCount\":1000") {
            return Err(format!("the last valid one was not found behind 999 others: {answer}"));
        }
        let times = self.times(project.path(), &["resume", "--json"])?;
        println!(
            "Last valid of 1,000, 999 of them damaged: best {:.0} ms, p50 {:.0} ms (limit 100 ms).",
            times.0, times.1
        );
        Ok(Row::at_most("last valid checkpoint behind 999 damaged".to_owned(), times.0, 100.0, "ms"))
    }

    /// Best and median, in milliseconds.
    fn times(&self, project: &Path, arguments: &[&str]) -> Result<(f64, f64), String> {
        let mut times = Vec::new();
        for _ in 0..15 {
            times.push(self.time(&mut self.command(project, arguments))?);
        }
        Ok((milliseconds(percentile(&times, 0)), milliseconds(percentile(&times, 50))))
    }

    fn large(&self) -> Result<(), String> {
        let project = project()?;
        let names: Vec<String> = (0..10).map(|number| format!("sparse-{number}")).collect();
        for (number, name) in (1_u64..).zip(&names) {
            let file = fs_err::File::create(project.path().join(name)).map_err(told)?;
            file.set_len((1 << 30) + number).map_err(told)?;
        }
        let first = self.time(&mut self.save(project.path(), &names, &[]))?;
        let mut again = Vec::new();
        for _ in 0..10 {
            again.push(self.time(&mut self.save(project.path(), &names, &[]))?);
        }
        println!(
            "10 GB in sparse files: first checkpoint {:.1} s, unchanged again p50 {:.1} ms.",
            first.as_secs_f64(),
            milliseconds(percentile(&again, 50))
        );
        Ok(())
    }
}

/// Bytes a second on one core, in the size of block that is best for it.
fn openssl() -> Result<f64, String> {
    let mut command = Command::new("openssl");
    command.args(["speed", "-mr", "-seconds", "1", "-bytes", "16384", "sha256"]).stderr(Stdio::null());
    let output = process::output(&mut command)?;
    let rate = output
        .lines()
        .filter(|line| line.starts_with("+F:"))
        .filter_map(|line| line.rsplit(':').next()?.parse().ok())
        .next();
    rate.ok_or_else(|| format!("`openssl speed` said nothing: {output}"))
}
