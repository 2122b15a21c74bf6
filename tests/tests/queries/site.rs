//! A site gives the bytes of a server, for random queries of lists and of their pages.

use std::path::PathBuf;

use pinakes_tests::query_generator::{Coverage, QueryGenerator};
use pinakes_tests::server::{Server, Snapshots};
use pinakes_tests::site::{Site, assert_same, files};
use pinakes_tests::static_host::Host;
use pinakes_tests::{SeededRng, compiler, library, lists, real_data, sample};

use crate::queries::{pick_generator, wrong};

#[test]
fn a_site_gives_the_bytes_of_a_server() {
    compare("site::a_site_gives_the_bytes_of_a_server", &[sample()], 500);
}

/// Real records give indexes with whole chunks of zeros.
#[test]
fn a_site_of_real_records_gives_the_bytes_of_a_server() {
    let test = "site::a_site_of_real_records_gives_the_bytes_of_a_server";
    let Some(dump) = real_data("large/openalex", test) else { return };
    compare(test, &[dump], 20);
}

/// Sends queries of every operation and some random ones to a site and to a server.
fn compare(test: &str, inputs: &[PathBuf], random: usize) {
    let Some(files) = files(test) else { return };
    let snapshots = Snapshots::from_inputs(inputs);
    let tree = tempfile::tempdir().unwrap();
    let published = compiler(&[
        "publish".as_ref(),
        snapshots.path().as_os_str(),
        "--to".as_ref(),
        tree.path().as_os_str(),
        "--site".as_ref(),
        files.as_os_str(),
    ]);
    assert!(published.status.success(), "{}", String::from_utf8_lossy(&published.stderr));
    let host = Host::new(tree.path().to_owned());
    let mut site = Site::start(&files, &host.url(), &[]);
    let server = Server::serve(&snapshots);
    let mut connection = server.connect();
    for target in targets(inputs, random) {
        assert_same(&target, &site.ask("GET", &target, &[], ""), &connection.get(&target));
    }
    server.end(&[]);
}

fn targets(inputs: &[PathBuf], random: usize) -> Vec<String> {
    let lists = lists(inputs);
    let generators = QueryGenerator::all(library(inputs), lists);
    let (mut rng, mut coverage) = (SeededRng(31), Coverage::default());
    let mut targets = Vec::new();
    for generator in &generators {
        let every = generator.every_operation(&mut rng, &mut coverage);
        let queries = wrong::queries(generator).into_iter().chain(every);
        targets.extend(queries.map(|query| format!("/{}?{query}", generator.route)));
    }
    for _ in 0..random {
        let generator = pick_generator(&generators, &mut rng);
        let query = generator.query(&mut rng, &mut coverage, lists);
        for below in ["", "/browse", "/statistics"] {
            targets.push(format!("{below}/{}?{query}", generator.route));
        }
    }
    let pages = ["/browse/outputs", "/browse/search?query=a", "/openalex/works?group_by=type"];
    targets.extend(pages.map(str::to_owned));
    println!("{} requests", targets.len());
    targets
}
