//! Self-signed certificates for tests, valid from 1975 to 4096, with their keys.

/// A certificate and its key, in PEM.
pub struct Pair {
    pub certificate: &'static str,
    pub key: &'static str,
}

/// A certificate for `localhost`.
pub const LOCALHOST: Pair = Pair {
    certificate: include_str!("../certificates/localhost.pem"),
    key: include_str!("../certificates/localhost.key"),
};

/// Another certificate for `localhost`, with another key.
pub const LOCALHOST_RENEWED: Pair = Pair {
    certificate: include_str!("../certificates/localhost-renewed.pem"),
    key: include_str!("../certificates/localhost-renewed.key"),
};

/// A certificate for `api.openalex.org`, valid from 2026.
pub const OPENALEX: Pair = Pair {
    certificate: include_str!("../certificates/openalex.pem"),
    key: include_str!("../certificates/openalex.key"),
};
