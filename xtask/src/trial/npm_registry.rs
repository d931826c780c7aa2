//! A registry for npm on loopback that has our packages and no others, so that they can be installed by the command that people
//! will type. It ends with the process.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::process;

pub(super) struct NpmRegistry {
    pub(super) address: String,
}

struct PackageFile {
    manifest: Value,
    file: PathBuf,
}

impl NpmRegistry {
    /// Serves every package for npm in this folder.
    pub(super) fn serve(folder: &Path) -> Result<Self, String> {
        let failed = |error: std::io::Error| error.to_string();
        let mut packages = BTreeMap::new();
        for entry in fs_err::read_dir(folder).map_err(failed)? {
            let file = entry.map_err(failed)?.path();
            if file.extension().is_some_and(|extension| extension == "tgz") {
                let mut tar = Command::new("tar");
                tar.args(["--extract", "--to-stdout", "--gunzip", "--file"])
                    .arg(&file)
                    .arg("package/package.json");
                let manifest: Value =
                    serde_json::from_str(&process::output(&mut tar)?).map_err(|error| error.to_string())?;
                let name = manifest.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
                packages.insert(name, PackageFile { manifest, file });
            }
        }
        let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
        let address = format!("http://{}", listener.local_addr().map_err(failed)?);
        let (packages, own) = (Arc::new(packages), address.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming().filter_map(Result::ok) {
                let (packages, own) = (Arc::clone(&packages), own.clone());
                // A client that went away is no concern of ours.
                std::thread::spawn(move || drop(answer(stream, &packages, &own)));
            }
        });
        Ok(Self { address })
    }
}

fn answer(
    mut stream: TcpStream,
    packages: &BTreeMap<String, PackageFile>,
    address: &str,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut header = String::new();
    while reader.read_line(&mut header)? > 2 {
        header.clear();
    }
    let path = request.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let path = path.replace("%2f", "/").replace("%2F", "/");
    let body = match path.strip_prefix("-/files/") {
        Some(name) => packages.get(name).and_then(|package| fs_err::read(&package.file).ok()),
        None => packages.get(&path).map(|package| described(&path, package, address).into_bytes()),
    };
    let status = if body.is_some() { "200 OK" } else { "404 Not Found" };
    let body = body.unwrap_or_else(|| b"{}".to_vec());
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    stream.write_all(&body)
}

/// What npm asks for first: the versions of a package and where each is.
fn described(name: &str, package: &PackageFile, address: &str) -> String {
    let version = package.manifest.get("version").and_then(Value::as_str).unwrap_or_default();
    let mut manifest = package.manifest.clone();
    if let Some(fields) = manifest.as_object_mut() {
        fields.insert("dist".to_owned(), json!({"tarball": format!("{address}/-/files/{name}")}));
    }
    json!({"name": name, "dist-tags": {"latest": version}, "versions": {version: manifest}}).to_string()
}
