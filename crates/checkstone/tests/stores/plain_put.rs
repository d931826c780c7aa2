//! The real service behind a door that makes it look like one that does not know conditional put: what the service refuses because
//! there is such an object already is answered as if it had been put.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

/// Its address; it serves for as long as this process lives.
pub(crate) fn start(service: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let service = service.trim_start_matches("http://").to_owned();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let service = service.clone();
            std::thread::spawn(move || serve(&client, &service));
        }
    });
    address
}

/// One request, whose answer ends with its connection. Everything that is signed stays as it is.
fn serve(mut client: &TcpStream, service: &str) -> Option<()> {
    let mut server = TcpStream::connect(service).ok()?;
    let mut request = BufReader::new(client);
    let (mut head, mut length) = (String::new(), 0_u64);
    loop {
        let mut line = String::new();
        if request.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or((&line, ""));
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "connection" => continue,
            _ => {}
        }
        head.push_str(&line);
    }
    write!(server, "{head}Connection: close\r\n\r\n").ok()?;
    std::io::copy(&mut request.by_ref().take(length), &mut server).ok()?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer).ok()?;
    if answer.starts_with(b"HTTP/1.1 412") {
        answer =
            b"HTTP/1.1 200 OK\r\nETag: \"put\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec();
    }
    client.write_all(&answer).ok()
}
