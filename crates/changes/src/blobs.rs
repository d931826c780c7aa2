//! The contents of blobs, asked of git in batches.

use std::collections::BTreeMap;

use crate::error::Error;

/// So much is asked of one git process.
const BATCH: u64 = 16 * 1024 * 1024;

/// Runs git with arguments and an input.
type RunGit<'r> = &'r dyn Fn(&[&str], &[u8]) -> Result<Vec<u8>, Error>;

/// The contents of those blobs that are there and not larger than `largest`.
pub fn blobs<'a>(
    run: RunGit<'_>,
    ids: &[&'a str],
    largest: u64,
) -> Result<BTreeMap<&'a str, Vec<u8>>, Error> {
    let mut contents = BTreeMap::new();
    if ids.is_empty() {
        return Ok(contents);
    }
    let question: String = ids.iter().map(|id| format!("{id}\n")).collect();
    let sizes = run(&["cat-file", "--batch-check=%(objectsize)"], question.as_bytes())?;
    let sizes = String::from_utf8_lossy(&sizes);
    let mut batch: Vec<&str> = Vec::new();
    let mut together = 0;
    for (id, size) in ids.iter().zip(sizes.lines()) {
        // A blob that a partial clone has not is not read: it is on the remote already.
        let Ok(size) = size.parse::<u64>() else { continue };
        if size > largest {
            continue;
        }
        if together + size > BATCH && !batch.is_empty() {
            read_batch(run, &std::mem::take(&mut batch), &mut contents)?;
            together = 0;
        }
        together += size;
        batch.push(id);
    }
    read_batch(run, &batch, &mut contents)?;
    Ok(contents)
}

fn read_batch<'a>(
    run: RunGit<'_>,
    ids: &[&'a str],
    contents: &mut BTreeMap<&'a str, Vec<u8>>,
) -> Result<(), Error> {
    if ids.is_empty() {
        return Ok(());
    }
    let question: String = ids.iter().map(|id| format!("{id}\n")).collect();
    let output = run(&["cat-file", "--batch=%(objectsize)"], question.as_bytes())?;
    let mut rest = output.as_slice();
    for id in ids {
        let not_understood =
            || Error::NotUnderstood { command: "git cat-file".to_owned(), record: (*id).to_owned() };
        let end = rest.iter().position(|byte| *byte == b'\n').ok_or_else(not_understood)?;
        let (header, body) = rest.split_at(end);
        let size = std::str::from_utf8(header).ok().and_then(|size| size.parse::<usize>().ok());
        let size = size.ok_or_else(not_understood)?;
        // Behind the header and behind the content stands a line break each.
        contents.insert(id, body.get(1..=size).ok_or_else(not_understood)?.to_vec());
        rest = body.get(size + 2..).ok_or_else(not_understood)?;
    }
    Ok(())
}
