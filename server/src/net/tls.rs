//! TLS: a certificate and key from files, reloaded without closing connections, and a bounded rate of
//! handshakes.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use http::HeaderValue;
use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, pem};
use rustls::server::{Acceptor, ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time;
use tokio_rustls::{LazyConfigAcceptor, server::TlsStream};

use crate::admission::fair_queue::{FairQueue, PermitLimits};
use crate::event_counts::{EXCESSES, Excess};

/// Protocols offered in the handshake, preferred first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Handshakes that one permit allows in a second.
const TURNS_PER_SECOND: usize = 10;
/// The part of the handshakes that one network may do: one of this many.
const NETWORK_SHARE: usize = 4;
/// Handshakes of one network that wait for their turn.
const NETWORK_WAITING_MAX: usize = 256;

/// Why a certificate and its key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file is not PEM, or lacks the item.
    #[error("cannot read {what} from `{}`: {error}; expected PEM", path.display())]
    Pem { what: &'static str, path: PathBuf, error: pem::Error },
    #[error("`{}` holds no certificate; expected PEM, the server's own certificate first", path.display())]
    NoCertificate { path: PathBuf },
    /// The key is not the certificate's, or its type is not supported.
    #[error("cannot use certificate `{}` with key `{}`: {error}", certificate.display(), key.display())]
    Pair { certificate: PathBuf, key: PathBuf, error: rustls::Error },
}

/// The current certificate, and the files to reload it from.
#[derive(Debug)]
pub struct Certificate {
    certificate: PathBuf,
    key: PathBuf,
    provider: Arc<CryptoProvider>,
    current: ArcSwap<CertifiedKey>,
}

impl Certificate {
    /// Reads a certificate chain and its private key from PEM files.
    pub fn open(certificate: &Path, key: &Path) -> Result<Certificate, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let current = ArcSwap::from_pointee(read(certificate, key, &provider)?);
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        Ok(Certificate { certificate, key, provider, current })
    }

    /// Reads both files again; keeps the current certificate on failure.
    pub fn reload(&self) -> Result<(), TlsError> {
        self.current.store(Arc::new(read(&self.certificate, &self.key, &self.provider)?));
        Ok(())
    }

    /// Makes the acceptor of TLS handshakes, at most `per_second` of them a second. Browsers use no plain HTTP
    /// for `hsts_seconds` after a reply.
    pub fn acceptor(
        self: Arc<Self>,
        per_second: u32,
        hsts_seconds: u32,
    ) -> Result<Handshakes, rustls::Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(self);
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        let total = (per_second as usize / TURNS_PER_SECOND).max(1);
        let held = (total / NETWORK_SHARE).max(1);
        let limits = PermitLimits { total, held, waiting: NETWORK_WAITING_MAX };
        // A number has no invalid character.
        let transport_security = HeaderValue::try_from(format!("max-age={hsts_seconds}")).ok();
        let turns = Arc::new(FairQueue::new(limits));
        Ok(Handshakes { config: Arc::new(config), turns, transport_security })
    }
}

/// Accepts TLS handshakes at a bounded rate, the networks in turn.
///
/// A handshake costs the server a signature, about a millisecond with an RSA key. It takes a permit for a
/// tenth of a second, so that the number of permits bounds the rate.
pub struct Handshakes {
    config: Arc<ServerConfig>,
    turns: Arc<FairQueue>,
    transport_security: Option<HeaderValue>,
}

impl Handshakes {
    /// The value of `Strict-Transport-Security` in every reply.
    pub fn transport_security(&self) -> Option<HeaderValue> {
        self.transport_security.clone()
    }

    /// Does the handshake of a client in a network; `None` is not limited.
    ///
    /// # Errors
    ///
    /// The handshake failed, or too many of the network wait.
    pub async fn accept<S>(&self, stream: S, network: Option<u64>) -> io::Result<TlsStream<S>>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        let hello = LazyConfigAcceptor::new(Acceptor::default(), stream).await?;
        if let Some(network) = network {
            let Some(turn) = self.turns.acquire(network).await else {
                EXCESSES.count(Excess::Handshakes);
                return Err(io::Error::other("the client's network began too many TLS handshakes"));
            };
            tokio::spawn(async move {
                time::sleep(Duration::from_secs(1) / TURNS_PER_SECOND as u32).await;
                drop(turn);
            });
        }
        // Computes the signature.
        let handshake = hello.into_stream(Arc::clone(&self.config));
        handshake.await
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.load_full())
    }
}

fn read(
    certificate: &Path,
    key: &Path,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, TlsError> {
    let failed = |what, path: &Path| {
        let path = path.to_owned();
        move |error| TlsError::Pem { what, path, error }
    };
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(failed("a certificate", certificate))?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate { path: certificate.to_owned() });
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(failed("a private key", key))?;
    CertifiedKey::from_der(chain, private, provider).map_err(|error| {
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        TlsError::Pair { certificate, key, error }
    })
}
