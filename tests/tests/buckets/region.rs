//! Stores that answer for a bucket elsewhere, or without end.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use pinakes_tests::compiler_run::Workspace;
use pinakes_tests::static_host::{Behaviour, Host};

use crate::buckets::setup::{command, text};

#[test]
fn a_bucket_in_another_region_names_the_region() {
    // Amazon answers so without a `Location`.
    let host = Host::with_rule("/nowhere".into(), |_| {
        let head = "HTTP/1.1 301 Moved Permanently\r\nx-amz-bucket-region: eu-central-1\r\nContent-Length: 0";
        Behaviour::Replies(head.to_owned(), Vec::new())
    });
    let workspace = Workspace::new();
    let out = workspace.out();
    for args in [
        &["build", "s3://dump/works", "--out", text(&out)][..],
        &["pull", "s3://dump/tree", "--out", text(&out)],
    ] {
        let ended = command(&host.url(), args).output().unwrap();
        let errors = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(3), "{args:?}: {errors}");
        assert!(errors.contains("set `AWS_REGION=eu-central-1`"), "{args:?}: {errors}");
    }
}

#[test]
fn a_list_without_end_is_refused() {
    let page = AtomicUsize::new(0);
    let host = Host::with_rule("/nowhere".into(), move |_| {
        let number = page.fetch_add(1, SeqCst);
        let file = |at: usize| {
            let key = format!("works/{number:0900}-{at}.gz");
            format!("<Contents><Key>{key}</Key><Size>9</Size><ETag>e</ETag></Contents>")
        };
        let files: String = (0..1_000).map(file).collect();
        let body = format!(
            "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>dump</Name><Prefix>works/</Prefix>\
             <MaxKeys>1000</MaxKeys><KeyCount>1000</KeyCount><IsTruncated>true</IsTruncated>\
             <NextContinuationToken>{number}</NextContinuationToken>{files}</ListBucketResult>"
        );
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}", body.len());
        Behaviour::Replies(head, body.into_bytes())
    });
    let workspace = Workspace::new();
    let out = workspace.out();
    let args = ["build", "s3://dump/works/", "--out", text(&out)];
    let ended = command(&host.url(), &args).output().unwrap();
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(3), "{errors}");
    assert!(errors.contains("lists more than 96 MiB of names; give a longer prefix"), "{errors}");
    assert!(host.asked().len() < 120, "{} pages", host.asked().len());
}
