//! Looks for secrets in the files of folders, as if all of them were new: how many are found in code that has none, and
//! how long it takes. `cargo run --release -p autosave --example scan -- FOLDER..`

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a tool for people at a terminal")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use autosave::secrets::{self, Allow};
use change_set::BytePath;
use keeping::{Added, AddedFile};

fn main() {
    let (mut files, mut bytes, mut found, mut took) = (0_u64, 0_u64, 0_u64, Duration::ZERO);
    let mut folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().into_iter().flatten().flatten() {
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                let Some(added) = as_added(&entry.path()) else { continue };
                files += 1;
                bytes += added.files.iter().map(|file| file.content.len() as u64).sum::<u64>();
                let began = Instant::now();
                let findings = secrets::scan(&added, &Allow::default());
                took += began.elapsed();
                for finding in findings {
                    found += 1;
                    println!("{}:{}: {}", finding.path, finding.line, finding.kind);
                }
            }
        }
    }
    let seconds = took.as_secs_f64();
    let megabytes = bytes as f64 / 1e6;
    println!(
        "{files} files, {megabytes:.1} MB, {found} findings, {seconds:.3} s, {:.0} MB/s",
        megabytes / seconds
    );
}

fn as_added(path: &Path) -> Option<Added> {
    let content = fs_err::read(path).ok()?;
    let lines = (1..=content.split(|byte| *byte == b'\n').count()).collect();
    let file = AddedFile { path: BytePath::from(path), commit: String::new(), content, lines };
    Some(Added { files: vec![file], unread: Vec::new() })
}
