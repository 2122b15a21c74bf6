//! A proxy before a store that breaks or stalls transfers.

use std::{
    io::{Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use pinakes_tests::bucket_store::BucketStore;

/// What the proxy does after some bytes of replies.
#[derive(Clone, Copy)]
pub enum Harm {
    /// Closes the connection.
    Cuts,
    /// Keeps the connection open, and sends nothing more.
    Stalls,
}

/// A proxy that listens until the process ends.
pub struct Proxy {
    port: u16,
    harmed: Arc<AtomicUsize>,
}

impl Proxy {
    /// Harms the first `count` connections that bring more than `after_bytes` bytes.
    pub fn harming(store: &BucketStore, harm: Harm, after_bytes: usize, count: usize) -> Proxy {
        Proxy::start(store, Some((harm, after_bytes, count)), |_| {})
    }

    /// Calls `see` with the bytes of every request before they are sent on.
    pub fn watching(store: &BucketStore, see: impl Fn(&str) + Send + Sync + 'static) -> Proxy {
        Proxy::start(store, None, see)
    }

    fn start(
        store: &BucketStore,
        harm: Option<(Harm, usize, usize)>,
        see: impl Fn(&str) + Send + Sync + 'static,
    ) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, store) = (listener.local_addr().unwrap().port(), store.port());
        let (harmed, see) = (Arc::new(AtomicUsize::new(0)), Arc::new(see));
        let count_harmed = Arc::clone(&harmed);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect(("127.0.0.1", store)).unwrap();
                let (see, harmed) = (Arc::clone(&see), Arc::clone(&count_harmed));
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                thread::spawn(move || forward_requests(from, to, &*see));
                thread::spawn(move || forward_replies(server, client, harm, &harmed));
            }
        });
        Proxy { port, harmed }
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The number of connections that were harmed.
    pub fn harmed(&self) -> usize {
        self.harmed.load(Ordering::SeqCst)
    }
}

fn forward_requests(mut client: TcpStream, mut server: TcpStream, see: &dyn Fn(&str)) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(count @ 1..) = client.read(&mut buffer) {
        see(&String::from_utf8_lossy(&buffer[..count]));
        if server.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Both);
}

fn forward_replies(
    mut server: TcpStream,
    mut client: TcpStream,
    harm: Option<(Harm, usize, usize)>,
    harmed: &AtomicUsize,
) {
    let mut buffer = vec![0; 1 << 12];
    let mut sent = 0;
    while let Ok(count @ 1..) = server.read(&mut buffer) {
        sent += count;
        if let Some((harm, after_bytes, most)) = harm
            && sent > after_bytes
            && harmed
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| (n < most).then_some(n + 1))
                .is_ok()
        {
            match harm {
                Harm::Cuts => break,
                // The client closes the connection when it has waited long enough.
                Harm::Stalls => {
                    let _ = client.set_read_timeout(None);
                    while let Ok(1..) = client.peek(&mut [0]) {
                        pinakes_tests::pause();
                    }
                    break;
                }
            }
        }
        if client.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = client.shutdown(Shutdown::Both);
    let _ = server.shutdown(Shutdown::Both);
}
