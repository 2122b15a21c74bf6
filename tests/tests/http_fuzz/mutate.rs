//! Mutations of requests on every level, from the method to single bytes.

use pinakes_format::entity::CATALOG;
use pinakes_tests::SeededRng;

use crate::grammar::{Grammar, Request};
use crate::pieces::{BYTES, FRAMING, HEADER_NAMES, HEADER_VALUES, METHODS, TOKENS};
use pinakes_tests::values::{chance, percent_encode, pick, pick_word};

/// Mutates parts of a request; the request still ends where it did.
pub fn mutate_parts(request: &mut Request, rng: &mut SeededRng, grammar: &Grammar) {
    for _ in 0..*pick(rng, &[0, 0, 0, 1, 1, 1, 2, 4]) {
        request.is_changed = true;
        match rng.below(16) {
            0 => request.method = pick(rng, METHODS).as_bytes().to_vec(),
            1 => {
                request.version =
                    pick_word(rng, &["HTTP/1.0", "HTTP/1.1", "HTTP/2.0", "HTTP/1.2", "", "x"])
            }
            2..5 => path(&mut request.target, rng),
            5..9 => query(&mut request.target, rng, grammar),
            9..12 => token(&mut request.target, rng),
            12 => byte(&mut request.target, rng),
            13 => long(request, rng),
            _ => headers(&mut request.headers, rng, grammar),
        }
    }
    for part in [&mut request.method, &mut request.target] {
        part.retain(|byte| !b"\r\n".contains(byte));
    }
    for (name, value) in &mut request.headers {
        name.retain(|byte| !b"\r\n".contains(byte));
        value.retain(|byte| !b"\r\n".contains(byte));
    }
}

/// Serialises one or two requests with mutated framing or mutated bytes.
pub fn break_framing(request: &mut Request, rng: &mut SeededRng) -> Vec<u8> {
    let mut sent = match chance(rng, 50) {
        true => framing(request, rng),
        false => {
            let mut sent = Vec::new();
            request.write(&mut sent);
            request.write(&mut sent);
            sent
        }
    };
    if chance(rng, 75) {
        bytes(&mut sent, rng);
    }
    sent
}

/// Mutates up to four places in the bytes.
fn bytes(bytes: &mut Vec<u8>, rng: &mut SeededRng) {
    for _ in 0..1 + rng.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = rng.below(bytes.len());
        match rng.below(7) {
            0 => bytes[at] ^= 1 << rng.below(8),
            1 => bytes[at] = *pick(rng, BYTES),
            2 => bytes.insert(at, *pick(rng, BYTES)),
            3 => {
                bytes.remove(at);
            }
            4 => bytes.truncate(at),
            5 => {
                let end = at + rng.below((bytes.len() - at).min(200) + 1);
                let piece = bytes[at..end].to_vec();
                let to = rng.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            _ => {
                let line =
                    *pick(rng, &["\r\n", "\n", "\r", "\r\n\r\n", "\r\n ", ": ", " HTTP/1.1\r\n"]);
                bytes.splice(at..at, line.bytes());
            }
        }
    }
}

/// Adds headers that give a length or a transfer coding, right or wrong, and perhaps a body.
fn framing(request: &mut Request, rng: &mut SeededRng) -> Vec<u8> {
    for _ in 0..1 + rng.below(2) {
        let (name, value) = *pick(rng, FRAMING);
        request.header(name, value);
    }
    let mut bytes = Vec::new();
    request.write(&mut bytes);
    let body = *pick(
        rng,
        &[
            "",
            "",
            "hello",
            "5\r\nhello\r\n0\r\n\r\n",
            "ffffffffffffffff\r\n",
            "5;x=\"\r\nhello",
            "GET / HTTP/1.1\r\n",
        ],
    );
    bytes.extend_from_slice(body.as_bytes());
    bytes
}

/// Returns the position of the `?`, or the end of the target.
fn query_start(target: &[u8]) -> usize {
    target.iter().position(|byte| *byte == b'?').unwrap_or(target.len())
}

fn path(target: &mut Vec<u8>, rng: &mut SeededRng) {
    let rest = target.split_off(query_start(target));
    let text = String::from_utf8_lossy(target).into_owned();
    let mut segments: Vec<String> = text.split('/').map(str::to_owned).collect();
    let at = rng.below(segments.len());
    match rng.below(7) {
        0 => segments.insert(at, (*pick(rng, TOKENS)).to_owned()),
        1 => segments[at] = (*pick(rng, TOKENS)).to_owned(),
        2 => segments[at].push_str(pick_word(rng, TOKENS)),
        3 => segments[at] = pick(rng, &CATALOG).route.to_owned(),
        4 => {
            segments.remove(at);
        }
        5 => segments.push(String::new()),
        _ => segments[at] = escaped(&segments[at], rng),
    }
    *target = segments.join("/").into_bytes();
    target.extend_from_slice(&rest);
}

/// Percent-encodes some bytes at random.
fn escaped(text: &str, rng: &mut SeededRng) -> String {
    let byte = |byte: u8| match chance(rng, 30) || !byte.is_ascii() {
        true => format!("%{byte:02x}"),
        false => char::from(byte).to_string(),
    };
    text.bytes().map(byte).collect()
}

fn query(target: &mut Vec<u8>, rng: &mut SeededRng, grammar: &Grammar) {
    let text = String::from_utf8_lossy(&target.split_off(query_start(target))).into_owned();
    let text = text.strip_prefix('?').unwrap_or_default();
    let mut pairs: Vec<String> = text.split('&').map(str::to_owned).collect();
    let at = rng.below(pairs.len());
    let (name, value) = pairs[at].split_once('=').unwrap_or((&pairs[at], ""));
    match rng.below(9) {
        0 => pairs[at] = format!("{}={value}", pick(rng, TOKENS)),
        1 => pairs[at] = format!("{name}={}", pick(rng, TOKENS)),
        2 => pairs[at] = format!("{name}={value}{}", pick(rng, TOKENS)),
        3 => pairs[at] = format!("{name}={value},{}", expression(rng, grammar)),
        4 => {
            pairs[at] = format!(
                "{name}={}",
                vec![value; 1 + rng.below(60)].join(pick_word(rng, &[",", "|"]))
            )
        }
        5 => pairs[at] = escaped(&pairs[at], rng),
        6 => {
            pairs.remove(at);
        }
        7 => pairs.insert(at, pairs[at].clone()),
        _ => pairs.insert(at, grammar.any_query(rng)),
    }
    target.push(b'?');
    target.extend_from_slice(pairs.join("&").as_bytes());
}

/// Takes a filter expression from a random query.
fn expression(rng: &mut SeededRng, grammar: &Grammar) -> String {
    let query = grammar.any_query(rng);
    let mut pairs = query.split('&').filter_map(|pair| pair.strip_prefix("filter="));
    pairs.next().unwrap_or("is_oa:true").to_owned()
}

/// Inserts a token, percent-encoded or raw.
fn token(target: &mut Vec<u8>, rng: &mut SeededRng) {
    let at = rng.below(target.len() + 1);
    let most = if chance(rng, 50) { 0 } else { (target.len() - at).min(9) };
    let end = at + rng.below(most + 1);
    let token = pick_word(rng, TOKENS);
    let token = if chance(rng, 60) { percent_encode(rng, token) } else { token.to_owned() };
    target.splice(at..end, token.bytes());
}

fn byte(target: &mut Vec<u8>, rng: &mut SeededRng) {
    let at = rng.below(target.len() + 1);
    match chance(rng, 50) {
        true => target.insert(at, rng.below(256) as u8),
        false => target.truncate(at),
    }
}

/// Makes the target, the headers or the method too long.
fn long(request: &mut Request, rng: &mut SeededRng) {
    let count = *pick(rng, &[60, 70, 110, 1_000, 17_000, 70_000]);
    match rng.below(4) {
        0 => request.target.extend(std::iter::repeat_n(*pick(rng, b"a%/&,|=0"), count)),
        1 => request.header("X-Long", vec![b'x'; count]),
        2 => (0..count.min(150)).for_each(|_| request.header("X-Many", "1")),
        _ => request.method = vec![b'A'; count.min(1_000)],
    }
}

fn headers(headers: &mut Vec<(Vec<u8>, Vec<u8>)>, rng: &mut SeededRng, grammar: &Grammar) {
    match rng.below(6) {
        0 if !headers.is_empty() => {
            headers.remove(rng.below(headers.len()));
        }
        1 if !headers.is_empty() => headers.push(pick(rng, headers).clone()),
        2 => headers.push((b"If-None-Match".to_vec(), grammar.tag.clone().into_bytes())),
        _ => {
            let (name, value) = (*pick(rng, HEADER_NAMES), *pick(rng, HEADER_VALUES));
            headers.push((name.into(), value.into()));
        }
    }
}
