//! How connections are encrypted, and whom they trust.

use super::super::EngineError;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Returns what makes encrypted connections: with servers whose certificate is signed by the given one, or by one of the system's.
/// Whether a connection is encrypted is a matter of the address (`sslmode`).
pub(super) fn connector(root: Option<&[u8]>) -> Result<MakeRustlsConnect, EngineError> {
    let mut roots = RootCertStore::empty();
    if let Some(pem) = root {
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|error| unfit(&error))?;
            roots.add(certificate).map_err(|error| unfit(&error))?;
        }
        if roots.is_empty() {
            return Err(unfit(&"there is none"));
        }
    } else {
        // Certificates that cannot be read are left out, as everywhere; a server that needs one is refused.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let config =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| unfit(&error))?
            .with_root_certificates(roots)
            .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn unfit(error: &dyn std::fmt::Display) -> EngineError {
    EngineError::Protocol(format!("the certificate cannot be used: {error}"))
}
