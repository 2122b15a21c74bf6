//! Target: the bytes of a connection. Every reply must be one that the interface allows.

#![no_main]

use std::{
    cell::RefCell,
    net::{IpAddr, Ipv4Addr},
};

use libfuzzer_sys::fuzz_target;
use tokio::runtime::Runtime;

use pinakes_tests::judge::{self, Judge};
use pinakes_tests::serving::{Ending, Serving};

/// Sizes of the client's writes, in bytes.
const PIECES_BYTES: [usize; 4] = [64 << 10, 1, 7, 100];

struct Court {
    runtime: Runtime,
    serving: Serving,
    judge: Judge,
}

thread_local! {
    static COURT: RefCell<Court> = RefCell::new({
        let serving = Serving::of(&pinakes_fuzz::snapshot(), None);
        let judge = Judge::new(serving.snapshot_id(), false);
        Court { runtime: Serving::runtime("head"), serving, judge }
    });
}

fuzz_target!(|bytes: &[u8]| {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let ending = if first % 2 == 0 { Ending::Waits } else { Ending::Closes };
    COURT.with_borrow_mut(|Court { runtime, serving, judge }| {
        let piece_bytes = PIECES_BYTES[usize::from(first / 2 % 4)];
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let received = runtime.block_on(serving.exchange(peer, bytes, piece_bytes, ending));
        judge::replies(&received, ending).iter().for_each(|reply| {
            judge.judge(reply);
        });
        assert!(!serving.is_poisoned(), "the server reports a damaged snapshot");
    });
});
