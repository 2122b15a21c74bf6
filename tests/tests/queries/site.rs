//! A site gives the bytes of a server, for random queries of lists and of their pages.

use pinakes_tests::query_generator::{Coverage, QueryGenerator};
use pinakes_tests::server::{Server, Snapshots};
use pinakes_tests::site::{Site, assert_same, files};
use pinakes_tests::static_host::Host;
use pinakes_tests::{SeededRng, compiler, library, sample};

use crate::queries::{pick_generator, wrong};

/// Random queries besides those of every operation.
const QUERIES: usize = 500;

#[test]
fn a_site_gives_the_bytes_of_a_server() {
    let Some(files) = files("site::a_site_gives_the_bytes_of_a_server") else { return };
    let inputs = [sample()];
    let snapshots = Snapshots::from_inputs(&inputs);
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
    let library = library(&inputs);
    let lists = pinakes_tests::lists(&inputs);
    let generators = QueryGenerator::all(library, lists);
    let (mut rng, mut coverage) = (SeededRng(31), Coverage::default());
    let mut targets = Vec::new();
    for generator in &generators {
        let every = generator.every_operation(&mut rng, &mut coverage);
        let queries = wrong::queries(generator).into_iter().chain(every);
        targets.extend(queries.map(|query| format!("/{}?{query}", generator.route)));
    }
    for _ in 0..QUERIES {
        let generator = pick_generator(&generators, &mut rng);
        let query = generator.query(&mut rng, &mut coverage, lists);
        for below in ["", "/browse", "/statistics"] {
            targets.push(format!("{below}/{}?{query}", generator.route));
        }
    }
    for target in &targets {
        assert_same(target, &site.ask("GET", target, &[], ""), &connection.get(target));
    }
    println!("{} requests", targets.len());
    server.end(&[]);
}
