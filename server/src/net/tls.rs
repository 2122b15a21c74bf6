//! TLS: a certificate and key from files, reloaded without closing connections.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use arc_swap::ArcSwap;
use rustls::{
    ServerConfig,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, pem, pem::PemObject},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use tokio_rustls::TlsAcceptor;

/// Protocols offered in the handshake, preferred first.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

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

    /// Makes the acceptor of TLS handshakes.
    pub fn acceptor(self: Arc<Self>) -> Result<TlsAcceptor, rustls::Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(self);
        config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
        Ok(TlsAcceptor::from(Arc::new(config)))
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
