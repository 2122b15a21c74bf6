//! TLS: certificates read from files, and read again without ending a connection.

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

/// What is spoken after the handshake, the first that a client can.
const PROTOCOLS: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Why there is no certificate to serve with.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file that is no PEM, or holds nothing of what was looked for.
    #[error("cannot read {what} from `{}`: {error}; expected PEM", path.display())]
    Pem {
        /// What was looked for.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// Why it is not there.
        error: pem::Error,
    },
    /// A file without a certificate.
    #[error("`{}` holds no certificate; expected PEM, the server's own first", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// The two do not belong together, or are of a kind that is not known.
    #[error("certificate `{}` and key `{}`: {error}", certificate.display(), key.display())]
    Pair {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
        /// What is wrong with them.
        error: rustls::Error,
    },
}

/// The certificate that is shown to clients, and where it came from.
#[derive(Debug)]
pub struct Certificate {
    certificate: PathBuf,
    key: PathBuf,
    provider: Arc<CryptoProvider>,
    current: ArcSwap<CertifiedKey>,
}

impl Certificate {
    /// Reads a chain of certificates and its key, both PEM.
    ///
    /// # Errors
    ///
    /// Naming the file, and what was expected of it.
    pub fn open(certificate: &Path, key: &Path) -> Result<Certificate, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let current = ArcSwap::from_pointee(read(certificate, key, &provider)?);
        let (certificate, key) = (certificate.to_owned(), key.to_owned());
        Ok(Certificate { certificate, key, provider, current })
    }

    /// Reads both again; what was there stays where that fails.
    ///
    /// # Errors
    ///
    /// As [`Certificate::open`].
    pub fn reload(&self) -> Result<(), TlsError> {
        self.current.store(Arc::new(read(&self.certificate, &self.key, &self.provider)?));
        Ok(())
    }

    /// What takes a connection's handshake.
    ///
    /// # Errors
    ///
    /// Where the versions and ciphers do not fit together.
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
