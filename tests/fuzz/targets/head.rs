//! Target: the bytes of a connection. Every reply must be one that the interface allows.

#![no_main]

use std::{
    cell::RefCell,
    net::{IpAddr, Ipv4Addr},
};

use libfuzzer_sys::fuzz_target;
use tokio::runtime::Runtime;

use pinakes_tests::reply_checker::{self, ReplyChecker};
use pinakes_tests::serving::{Ending, InProcessServer};

/// Sizes of the client's writes, in bytes.
const PIECES_BYTES: [usize; 4] = [64 << 10, 1, 7, 100];

struct Court {
    runtime: Runtime,
    serving: InProcessServer,
    checker: ReplyChecker,
}

thread_local! {
    static COURT: RefCell<Court> = RefCell::new({
        let serving = InProcessServer::new(&pinakes_fuzz::snapshot(), None);
        let checker = ReplyChecker::new(serving.snapshot_id(), false);
        Court { runtime: InProcessServer::runtime("head"), serving, checker }
    });
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let ending = if first % 2 == 0 { Ending::Waits } else { Ending::Closes };
    COURT.with_borrow_mut(|Court { runtime, serving, checker }| {
        let piece_bytes = PIECES_BYTES[usize::from(first / 2 % 4)];
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let received = runtime.block_on(serving.exchange(peer, bytes, piece_bytes, ending));
        reply_checker::parse_replies(&received, ending).iter().for_each(|reply| {
            checker.check(reply);
        });
        assert!(!serving.is_poisoned(), "the server reports a damaged snapshot");
    });
});
