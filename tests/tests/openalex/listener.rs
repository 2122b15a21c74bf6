//! An address that speaks the dialect alone, for clients that know only a host.

use pinakes_tests::client::Connection;
use pinakes_tests::server::{Server, Snapshots, command};

#[test]
fn an_address_of_its_own_has_the_paths_of_openalex() {
    let snapshots = Snapshots::from_sample();
    let mut command = command(&["--snapshots".as_ref(), snapshots.path().as_os_str()]);
    command.args(["--openalex-listen", "127.0.0.1:0"]);
    command.args(["--admin", "127.0.0.1:0"]);
    let mut server = Server::start(&mut command);
    let dialect = server.read_address("openalex");
    server.read_admin_address();
    let (mut own, mut alone) = (server.connect(), Connection::open(dialect));
    let page = "works?filter=type:article&per_page=3&cursor=*&select=id,cited_by_api_url";
    let mut expected = own.get(&format!("/openalex/{page}")).json();
    let mut found = alone.get(&format!("/{page}")).json();
    for page in [&mut expected, &mut found] {
        page["meta"]["db_response_time_ms"] = 0.into();
    }
    assert_eq!(found, expected);
    let cursor = found["meta"]["next_cursor"].as_str().unwrap();
    let next = alone.get(&format!("/works?per_page=3&select=id&cursor={cursor}"));
    let id = next.header("x-snapshot-id").map(str::to_owned);
    assert_eq!((next.status, id), (200, Some(snapshots.open().manifest().id.clone())));
    // The paths of the dialect below the interface are answered here too.
    let work = expected["results"][0]["id"].as_str().unwrap().rsplit('/').next().unwrap();
    let citing = format!("works?filter=cites:{work}&select=id");
    for path in [format!("/openalex/{citing}"), format!("/{citing}")] {
        assert_eq!(alone.get(&path).status, 200, "{path}");
    }
    assert!(alone.get("/").json()["lists"]["works"]["filter"].is_object());
    // The address has neither pages nor the interface.
    for path in ["/outputs", "/browse", "/graphql", "/authors/HX_A1/x", "/health"] {
        assert_eq!(alone.get(path).status, 404, "{path}");
    }
    server.end(&[]);
}
