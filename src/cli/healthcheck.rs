//! Ask a running service whether it is ready, without curl in the image.

use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{self, ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme, StreamOwned};

const TIMEOUT: Duration = Duration::from_secs(3);

/// `GET /readyz`, which must answer 200; over TLS if there is a certificate, which the service must show.
pub(super) fn healthcheck(listen: SocketAddr, certificate: Option<&Path>) -> Result<(), String> {
    let address = reachable(listen);
    let connect = || -> std::io::Result<TcpStream> {
        let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(stream)
    };
    let answer = match certificate {
        None => connect().and_then(|stream| ask(stream, address)),
        Some(certificate) => {
            let session = tls_session(certificate, address.ip())?;
            connect().and_then(|stream| ask(StreamOwned::new(session, stream), address))
        }
    };
    let answer = answer.map_err(|error| format!("no response from {address}: {error}"))?;
    match answer.lines().next() {
        Some(line) if line.contains(" 200 ") => Ok(()),
        Some(line) => Err(format!("not ready: {line}")),
        None => Err("not ready: the response is empty".into()),
    }
}

fn ask(mut stream: impl Read + Write, address: SocketAddr) -> std::io::Result<String> {
    stream.write_all(format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n").as_bytes())?;
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        // A connection that is closed without the last word of TLS has still answered.
        Err(error) if error.kind() != ErrorKind::UnexpectedEof => Err(error),
        _ => Ok(String::from_utf8_lossy(&answer).into_owned()),
    }
}

/// A TLS session with a service that shows this very certificate.
fn tls_session(certificate: &Path, server: IpAddr) -> Result<ClientConnection, String> {
    let unusable = |error: &dyn std::fmt::Display| format!("{}: {error}", certificate.display());
    let expected = CertificateDer::from_pem_file(certificate).map_err(|error| unusable(&error))?;
    let provider = Arc::new(ring::default_provider());
    let verifier = Arc::new(OwnCertificate { expected, algorithms: provider.signature_verification_algorithms });
    let settings = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(&error))?
        .dangerous() // the certificate itself is known: whom it names and until when does not matter here
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    ClientConnection::new(Arc::new(settings), ServerName::from(server)).map_err(|error| unusable(&error))
}

/// Accepts one certificate, if the server has its key.
#[derive(Debug)]
struct OwnCertificate {
    expected: CertificateDer<'static>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for OwnCertificate {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if *shown == self.expected {
            return Ok(ServerCertVerified::assertion());
        }
        Err(rustls::Error::General("the service shows another certificate".into()))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// A service that listens on every address is asked on loopback.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}
