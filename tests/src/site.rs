//! A site under Node: the files that `make site` made, over a published tree.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::client::Response;
use crate::{root, skip};

/// Headers of the server's connection, and of what a site has not.
const OF_SERVERS: [&str; 6] =
    ["connection", "content-length", "date", "keep-alive", "transfer-encoding", "x-request-id"];

/// The files of `make site`; `None`, with the name of the skipped test, without them or without Node.
pub fn files(test: &str) -> Option<PathBuf> {
    let files = root().join("target/site/files");
    let has_node = Command::new("node").arg("--version").output().is_ok();
    if has_node && files.join("worker.js").exists() {
        return Some(files);
    }
    skip(
        test,
        "node or target/site/files is missing; .ci/run installs what `make site` needs, and runs it",
    );
    None
}

/// A Node process that answers requests from a tree.
pub struct Site {
    child: Child,
    requests: ChildStdin,
    replies: BufReader<ChildStdout>,
}

impl Site {
    /// Starts a site over the tree at a URL, which one of the keys signed.
    pub fn start(files: &Path, url: &str, keys: &[String]) -> Site {
        let entries = fs::read_dir(files).unwrap().map(|entry| entry.unwrap().path());
        let mut modules = entries.filter(|path| path.to_string_lossy().ends_with(".wasm.gz"));
        let mut child = Command::new("node")
            .arg(root().join("tests/src/site.mjs"))
            .arg(root().join("server/site/web/pinakes.js"))
            .arg(modules.next().unwrap())
            .arg(url)
            .args(keys)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let replies = BufReader::new(child.stdout.take().unwrap());
        Site { requests: child.stdin.take().unwrap(), replies, child }
    }

    /// Begins again, with nothing in memory.
    pub fn forget(&mut self) {
        self.requests.write_all(b"\"fresh\"\n").unwrap();
    }

    /// Begins again. From now on the site keeps all bytes that it reads, also when it begins again.
    pub fn keep(&mut self) {
        self.requests.write_all(b"\"keep\"\n").unwrap();
    }

    /// Sends a request to `localhost`. Returns the reply, or why there is none.
    ///
    /// # Errors
    ///
    /// In words for people.
    pub fn ask(
        &mut self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Result<Response, String> {
        let headers = [&[("host", "localhost")], headers].concat();
        let body = BASE64_STANDARD.encode(body);
        let asked = json!({ "method": method, "target": target, "headers": headers, "body": body });
        self.requests.write_all(format!("{asked}\n").as_bytes()).unwrap();
        let mut line = String::new();
        self.replies.read_line(&mut line).unwrap();
        let reply: Value = serde_json::from_str(&line)
            .unwrap_or_else(|error| panic!("{method} {target}: {error}: {line}"));
        if let Some(error) = reply["error"].as_str() {
            return Err(error.to_owned());
        }
        Ok(Response {
            version: String::new(),
            status: reply["status"].as_u64().unwrap() as u16,
            headers: serde_json::from_value(reply["headers"].clone()).unwrap(),
            body: BASE64_STANDARD.decode(reply["body"].as_str().unwrap()).unwrap(),
        })
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The status, the sorted headers and the body of a reply, without the headers that a site does not send.
pub fn comparable(reply: &Response) -> (u16, Vec<(String, String)>, Vec<u8>) {
    let mut headers = reply.headers.clone();
    headers.retain(|(name, _)| !OF_SERVERS.contains(&name.as_str()));
    headers.retain(|(name, _)| !name.starts_with("x-ratelimit"));
    headers.sort();
    (reply.status, headers, without_time(&reply.body))
}

/// A body of OpenAlex's dialect without the time that the answer took, which a site does not measure.
fn without_time(body: &[u8]) -> Vec<u8> {
    const TIME: &[u8] = b"\"db_response_time_ms\":";
    match body.windows(TIME.len()).position(|part| part == TIME) {
        None => body.to_vec(),
        Some(at) => {
            let (before, after) = body.split_at(at + TIME.len());
            let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
            [before, &after[digits..]].concat()
        }
    }
}

/// Asserts that a site's reply is the server's.
#[track_caller]
pub fn assert_same(what: &str, site: &Result<Response, String>, server: &Response) {
    let site = site.as_ref().unwrap_or_else(|error| panic!("{what}: {error}"));
    let (site, server) = (comparable(site), comparable(server));
    let texts = [&site.2, &server.2].map(|body| String::from_utf8_lossy(body));
    let same = texts[0].chars().zip(texts[1].chars()).take_while(|(one, other)| one == other);
    // Some characters before the first difference show where it is.
    let skipped = same.count().saturating_sub(200);
    let [of_site, of_server] = texts.each_ref().map(|text| text.chars().skip(skipped));
    assert!(
        site.2 == server.2,
        "{what}, from character {skipped}:\n{:.1000}\ninstead of\n{:.1000}",
        of_site.collect::<String>(),
        of_server.collect::<String>(),
    );
    assert_eq!((site.0, &site.1), (server.0, &server.1), "{what}");
}
