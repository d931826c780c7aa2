//! Credentials that the service itself issues, and that really expire: those of the role `short`, by a signed `AssumeRole`.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use sha2::{Digest as _, Sha256};

/// As environment variables, with the token first. `variables` are those by which the bucket is reached.
pub(crate) fn assume_short_role(variables: &[(String, String)]) -> [(String, String); 3] {
    let of = |name: &str| variables.iter().find(|(known, _)| known == name).unwrap().1.clone();
    let host = of("AWS_ENDPOINT_URL").trim_start_matches("http://").to_owned();
    let body =
        "Action=AssumeRole&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3Arole%2Fshort&RoleSessionName=test";
    let now = jiff::Timestamp::try_from(sandbox::now()).unwrap();
    let [time, day] = ["%Y%m%dT%H%M%SZ", "%Y%m%d"].map(|format| now.strftime(format).to_string());
    let (region, hash) = (of("AWS_REGION"), hex(&Sha256::digest(body)));
    let signed = "content-type;host;x-amz-date";
    let headers = format!("content-type:application/x-www-form-urlencoded\nhost:{host}\nx-amz-date:{time}\n");
    let request = format!("POST\n/\n\n{headers}\n{signed}\n{hash}");
    let scope = format!("{day}/{region}/sts/aws4_request");
    let to_sign = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", hex(&Sha256::digest(request)));
    let first = format!("AWS4{}", of("AWS_SECRET_ACCESS_KEY")).into_bytes();
    let parts = [day.as_str(), &region, "sts", "aws4_request"];
    let key = parts.iter().fold(first, |key, part| keyed_hash(&key, part.as_bytes()));
    let (signature, id) = (hex(&keyed_hash(&key, to_sign.as_bytes())), of("AWS_ACCESS_KEY_ID"));
    let mut stream = TcpStream::connect(&host).unwrap();
    write!(
        stream,
        "POST / HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/x-www-form-urlencoded\r\nX-Amz-Date: {time}\r\n\
         Authorization: AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={signed}, Signature={signature}\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let part = |name: &str| {
        let inner = answer.split_once(&format!("<{name}>")).and_then(|(_, rest)| rest.split_once("</"));
        inner.unwrap_or_else(|| panic!("{answer}")).0.to_owned()
    };
    [
        ("AWS_SESSION_TOKEN", "SessionToken"),
        ("AWS_ACCESS_KEY_ID", "AccessKeyId"),
        ("AWS_SECRET_ACCESS_KEY", "SecretAccessKey"),
    ]
    .map(|(variable, name)| (variable.to_owned(), part(name)))
}

/// HMAC of SHA-256, for keys that are shorter than its block.
fn keyed_hash(key: &[u8], message: &[u8]) -> Vec<u8> {
    let padded =
        |with: u8| (0..64).map(move |place| key.get(place).unwrap_or(&0) ^ with).collect::<Vec<u8>>();
    let inner = Sha256::digest([&padded(0x36), message].concat());
    Sha256::digest([padded(0x5c), inner.to_vec()].concat()).to_vec()
}

fn hex(bytes: &[u8]) -> String {
    text::hexadecimal(bytes)
}
