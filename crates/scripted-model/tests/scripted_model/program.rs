//! The program as people start it.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_scripted-model"))
}

#[test]
fn it_prints_its_address_serves_and_logs() {
    let folder = tempfile::tempdir().unwrap();
    let (scenario, log) = (folder.path().join("scenario.json"), folder.path().join("log"));
    std::fs::write(&scenario, r#"{"steps": [{"text": "hello"}]}"#).unwrap();
    let mut child = program()
        .arg("--scenario")
        .arg(&scenario)
        .arg("--log")
        .arg(&log)
        .args(["--port", "0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut address = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
    let address = address.trim().strip_prefix("http://127.0.0.1:").unwrap();
    let mut stream = TcpStream::connect(format!("127.0.0.1:{address}")).unwrap();
    stream.write_all(b"GET /v1/models HTTP/1.1\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(answer.ends_with(r#"{"models":[]}"#), "{answer}");
    let logged: serde_json::Value = serde_json::from_slice(&std::fs::read(log).unwrap()).unwrap();
    assert_eq!((&logged["method"], &logged["path"]), (&"GET".into(), &"/v1/models".into()));
}

#[test]
fn a_wrong_scenario_is_told_and_nothing_is_served() {
    let output = program().args(["--scenario", "/nowhere/x.json"]).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.starts_with("error: cannot read the scenario\ncaused by: "), "{told}");
}
