//! TLS on a connection: the certificate and its key come from files, and are read again when these change.

use crate::storage::watched_files::WatchedFiles;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_rustls::server::TlsStream;

/// Why TLS cannot be offered.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or holds something else.
    #[error("{path} cannot be used for TLS: {detail}")]
    File {
        /// Which file.
        path: String,
        /// What is wrong with it.
        detail: String,
    },
    /// The files do not belong together.
    #[error("the certificate {certificate} and the key {key} cannot be used for TLS: {cause}")]
    Pair {
        /// The file of the certificate.
        certificate: String,
        /// The file of its key.
        key: String,
        /// What is wrong with them.
        cause: rustls::Error,
    },
    /// No thread to watch the files.
    #[error("the files for TLS cannot be watched: {0}")]
    Thread(#[from] io::Error),
}

/// A certificate and its key. If the files become unusable, those that were read last stay in use.
pub struct Tls {
    certificate: PathBuf,
    key: PathBuf,
    settings: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    /// Reads the files, which must be valid, and from then on again whenever they change.
    pub fn start(certificate: &Path, key: &Path) -> Result<Arc<Self>, TlsError> {
        let files = WatchedFiles::before_reading(vec![certificate.to_owned(), key.to_owned()]);
        let settings = RwLock::new(read(certificate, key)?);
        let tls = Arc::new(Self { certificate: certificate.to_owned(), key: key.to_owned(), settings });
        files.reload_on_change("watch-tls", &tls, Self::reload)?;
        Ok(tls)
    }

    /// The handshake of a new connection.
    pub(super) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let settings = Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner));
        TlsAcceptor::from(settings).accept(stream).await
    }

    fn reload(&self) {
        match read(&self.certificate, &self.key) {
            Ok(settings) => {
                tracing::info!("the files for TLS have changed and were read again");
                *self.settings.write().unwrap_or_else(PoisonError::into_inner) = settings;
            }
            // Two files cannot be replaced at the same moment; the next look finds both.
            Err(error) => tracing::error!(%error, "the certificate that was read before stays in use"),
        }
    }
}

/// HTTP/1.1 over TLS 1.2 or 1.3, without certificates of clients.
fn read(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let refusal = |path: &Path, detail: String| TlsError::File { path: path.display().to_string(), detail };
    let chain: Vec<_> = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect)
        .map_err(|error| refusal(certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(refusal(certificate, "it holds no certificate".into()));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| refusal(key, error.to_string()))?;
    let pair = |cause| TlsError::Pair {
        certificate: certificate.display().to_string(),
        key: key.display().to_string(),
        cause,
    };
    let mut settings = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(pair)?
        .with_no_client_auth()
        .with_single_cert(chain, private)
        .map_err(pair)?;
    settings.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(settings))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tls").join(name)
    }

    #[test]
    fn files_that_are_missing_foreign_or_not_a_pair_are_refused_by_name() {
        assert!(Tls::start(&fixture("first.pem"), &fixture("first.key")).is_ok());
        for (certificate, key, named) in [
            ("nowhere.pem", "first.key", "nowhere.pem"),
            ("first.pem", "nowhere.key", "nowhere.key"),
            ("first.key", "first.key", "first.key"),
            ("first.pem", "first.pem", "first.pem"),
            ("first.pem", "second.key", "second.key"),
        ] {
            let refusal = Tls::start(&fixture(certificate), &fixture(key)).err().unwrap().to_string();
            assert!(refusal.contains(named), "{refusal}");
        }
    }
}
