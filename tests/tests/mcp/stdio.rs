//! `pinakes-server mcp`: messages as lines on standard input and output.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Output, Stdio},
    time::Instant,
};

use pinakes_tests::client::REPLY_TIMEOUT;
use pinakes_tests::server::{Server, Snapshots};
use serde_json::{Value, json};

use crate::mcp::{CALLS, tool};

/// The program with the command `mcp`, without options of the environment.
pub fn program(args: &[&str]) -> Command {
    let mut command = Command::new(pinakes_tests::program("pinakes-server"));
    command.arg("mcp").args(args).env("NO_COLOR", "1");
    for name in ["SNAPSHOTS", "SNAPSHOT", "LOG"] {
        command.env_remove(format!("PINAKES_{name}"));
    }
    command
}

/// A running program, to which a test writes lines.
pub struct Talk {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Talk {
    pub fn begin(snapshots: &Snapshots, args: &[&str]) -> Talk {
        let at = snapshots.path().to_str().unwrap();
        let mut command = program(&[&["--snapshots", at], args].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Talk { child, input, output }
    }

    pub fn send(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).unwrap();
    }

    /// Reads a line, and returns the line with its JSON.
    #[track_caller]
    pub fn receive(&mut self) -> (String, Value) {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        (line, value)
    }

    /// Sends a request, and returns its answer.
    #[track_caller]
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": "a", "method": method, "params": params });
        self.send(&format!("{request}\n"));
        let (_, answer) = self.receive();
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!("a")), "{answer}");
        answer
    }

    /// Ends the input, and returns what is left of the output, and the log.
    #[track_caller]
    pub fn end(self) -> (String, String) {
        let Talk { mut child, input, mut output } = self;
        drop(input);
        let (mut rest, mut log) = (String::new(), String::new());
        output.read_to_string(&mut rest).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        let status = child.wait().unwrap();
        assert!(status.success(), "{status}: {log}");
        assert!(log.lines().all(|line| line.starts_with("20")), "{log}");
        (rest, log)
    }
}

#[test]
fn lines_are_answered_as_posts_are() {
    let snapshots = Snapshots::from_sample();
    let server = Server::serve(&snapshots);
    let (mut connection, mut talk) = (server.connect(), Talk::begin(&snapshots, &[]));
    let begun = talk.ask("initialize", json!({ "protocolVersion": "2025-06-18" }));
    assert_eq!(begun["result"]["protocolVersion"], "2025-06-18");
    // No line answers a notification: the next line is that of the list.
    talk.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\r\n");
    let listed = talk.ask("tools/list", json!({}));
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), CALLS.len());
    for (name, arguments) in CALLS {
        let arguments: Value = serde_json::from_str(arguments).unwrap();
        let said = talk.ask("tools/call", json!({ "name": name, "arguments": arguments }));
        let posted = tool(&mut connection, name, arguments);
        assert_eq!(said["result"]["structuredContent"], posted, "{name}");
    }
    let wrong = json!({ "name": "search", "arguments": { "filter": "yaer:2020" } });
    let said = talk.ask("tools/call", wrong);
    assert_eq!(said["result"]["isError"], true);
    let unknown = talk.ask("tools/call", json!({ "name": "nothing" }));
    assert_eq!(unknown["error"]["code"], -32602);
    let (rest, log) = talk.end();
    assert_eq!(rest, "");
    assert!(log.contains("client=127.0.0.1 method=\"POST\" url=\"/mcp\""), "{log}");
    server.end(&[]);
}

#[test]
fn a_wrong_line_gets_an_error_and_the_next_an_answer() {
    let snapshots = Snapshots::from_sample();
    let mut talk = Talk::begin(&snapshots, &[]);
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":""#;
    let longest = format!("{ping}{}\"}}\n", "x".repeat(65_536 - ping.len() - 2));
    let longer = longest.replacen('x', "xx", 1);
    let endless = format!("{}\n", "x".repeat(1_000_000));
    for (line, code) in [
        ("{", -32700),
        ("", -32700),
        ("[]", -32600),
        ("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}", -32600),
        (longer.trim_end(), -32600),
        (endless.trim_end(), -32600),
    ] {
        talk.send(&format!("{line}\n"));
        let (_, answer) = talk.receive();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(code)));
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(line.len() <= 65_536 || message.contains("at most 65536 bytes"), "{message}");
    }
    talk.send(&longest);
    assert_eq!(talk.receive().1["result"], json!({}));
    // The last line need not end.
    talk.send(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    let (rest, _) = talk.end();
    assert_eq!(rest, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n");
}

#[test]
fn a_cancelled_request_gets_no_answer() {
    let snapshots = Snapshots::from_sample();
    let mut talk = Talk::begin(&snapshots, &[]);
    let begun = Instant::now();
    // An answer may be faster than its cancellation.
    loop {
        let call =
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"statistics"}}"#;
        let cancel =
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#;
        let ping = r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#;
        talk.send(&format!("{call}\n{cancel}\n{ping}\n"));
        let mut ids = vec![talk.receive().1["id"].clone()];
        // Tells whether another answer is still to come.
        talk.send("{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"ping\"}\n");
        while !ids.contains(&json!(8)) || !ids.contains(&json!(9)) {
            ids.push(talk.receive().1["id"].clone());
        }
        if !ids.contains(&json!(7)) {
            break;
        }
        assert!(begun.elapsed() < REPLY_TIMEOUT, "each of the cancelled requests was answered");
    }
    assert_eq!(talk.end().0, "");
}

#[test]
fn a_newer_snapshot_answers_once_it_is_published() {
    let snapshots = Snapshots::from_sample();
    let mut talk = Talk::begin(&snapshots, &[]);
    let mut snapshot = || {
        let read = talk.ask("resources/read", json!({ "uri": "pinakes://snapshot" }));
        let text = read["result"]["contents"][0]["text"].as_str().unwrap();
        serde_json::from_str::<Value>(text).unwrap()["snapshot"].clone()
    };
    let first = snapshot();
    let dump = tempfile::tempdir().unwrap();
    pinakes_tests::write_files(dump.path(), pinakes_tests::TINY_DUMP);
    snapshots.add(&[dump.path().to_path_buf()]);
    let begun = Instant::now();
    while snapshot() == first {
        assert!(begun.elapsed() < REPLY_TIMEOUT);
    }
    assert_eq!(talk.end().0, "");
}

#[test]
fn work_has_limits_and_requests_have_none() {
    let snapshots = Snapshots::from_sample();
    let mut talk = Talk::begin(&snapshots, &["--list-timeout", "0.000001"]);
    let search = json!({ "name": "search", "arguments": { "query": "structure" } });
    let said = talk.ask("tools/call", search);
    assert_eq!(said["result"]["isError"], true, "{said}");
    let text = said["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Add a filter"), "{text}");
    // More than the server's minute and day allow.
    for _ in 0..600 {
        assert_eq!(talk.ask("ping", json!({}))["result"], json!({}));
    }
    assert_eq!(talk.end().0, "");
}

#[test]
fn obstacles_are_those_of_the_server() {
    let text = |output: &Output| String::from_utf8(output.stderr.clone()).unwrap();
    let missing = ["--snapshots", "/nowhere"];
    let ended = program(&missing).output().unwrap();
    let mut server = Command::new(pinakes_tests::program("pinakes-server"));
    let expected = server.args(missing).args(["--listen", "127.0.0.1:0"]).output().unwrap();
    assert_eq!((ended.status.code(), text(&ended)), (Some(1), text(&expected)));
    assert!(text(&ended).contains("`pinakes-compiler build DUMP"));
    let refused = program(&["--snapshots", "/nowhere", "--listen", "[::]:80"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    let expected = "error: `mcp` serves no address, and takes no --listen <ADDR>";
    assert!(text(&refused).starts_with(expected), "{}", text(&refused));
    // A configuration file of the server has options of serving too.
    let snapshots = Snapshots::from_sample();
    let file = tempfile::NamedTempFile::new().unwrap();
    let text = format!("snapshots = {:?}\nlisten = \"[::]:80\"\n", snapshots.path());
    std::fs::write(file.path(), text).unwrap();
    let config = program(&["--config", file.path().to_str().unwrap()]).output().unwrap();
    assert!(config.status.success() && config.stdout.is_empty(), "{config:?}");
    let help = program(&["--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("--list-cpu") && !help.contains("--listen") && !help.contains("--tls"));
}
