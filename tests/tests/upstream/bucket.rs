//! A mirror of a bucket: moto, which `.ci/run` installs into `target/moto`.

use pinakes_tests::bucket_store::{BucketStore, sign_for};
use pinakes_tests::server::Server;

use crate::upstream::setup::{Edition, Mirror, all_kinds};

#[test]
fn an_empty_mirror_of_a_bucket_gives_right_answers() {
    let Some(moto) = BucketStore::moto("an_empty_mirror_of_a_bucket_gives_right_answers") else {
        return;
    };
    moto.create("mirrors");
    moto.upload("mirrors", "openalex/full", &Edition::Old.tree());
    let mirror = Mirror::empty();
    let mut command = mirror.command_from(&["s3://mirrors/openalex/full"], &[]);
    let server = Server::start(sign_for(&mut command, &moto.endpoint()));
    all_kinds()[..12].iter().for_each(|asked| asked.assert_right(&server));
    assert!(!server.log().contains("X-Amz"), "{}", server.log());
    server.end(&[]);
}
