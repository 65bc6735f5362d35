//! Where the engine is, and the one place that opens it.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use windlass_remote::engine::{Engine, EngineError};

use crate::exit::Failure;

/// The variable that names the engine where `--engine` does not, and `env` stands for.
const VARIABLE: &str = "WINDLASS_ENGINE";

/// The address of an engine. Whoever prints it prints no password.
///
/// ```
/// use windlass_cli::engine::EngineAddress;
///
/// let address: EngineAddress = "redis://me:hunter2@db:6379/".parse().unwrap();
/// assert_eq!(address.to_string(), "redis://db:6379/");
/// ```
#[derive(Clone)]
pub struct EngineAddress(String);

/// An engine, and what it is called.
#[derive(Clone)]
pub struct OpenEngine {
    /// The engine. It may not be connected yet.
    pub engine: Arc<dyn Engine>,
    /// What it is: `redis` or `postgres`.
    pub kind: &'static str,
    /// Where it is, without secrets.
    pub place: String,
    check: Check,
}

/// Asks the server what about its settings endangers tasks.
type Check = Arc<dyn Fn() -> Result<Vec<String>, EngineError> + Send + Sync>;

impl fmt::Debug for OpenEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenEngine")
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

impl OpenEngine {
    /// Asks the engine whether it is there and fit for tasks; returns what should be set otherwise.
    ///
    /// # Errors
    ///
    /// If it is not.
    pub fn check(&self) -> Result<Vec<String>, EngineError> {
        (self.check)()
    }
}

impl FromStr for EngineAddress {
    type Err = Infallible;

    /// Takes any text: what is wrong with it is said when it is opened, without repeating it.
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for EngineAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((scheme, rest)) = self.0.split_once("://") else {
            // It may be anything, a password included.
            return f.write_str("an engine");
        };
        let rest = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
        let place = rest.split(['?', '#']).next().unwrap_or_default();
        write!(f, "{scheme}://{place}")
    }
}

impl fmt::Debug for EngineAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl EngineAddress {
    /// Returns the address that was given; without one, or if it is the word `env`, that of the variable
    /// `WINDLASS_ENGINE`.
    ///
    /// # Errors
    ///
    /// If there is neither.
    pub fn given_or_env(given: Option<&Self>) -> Result<Self, Failure> {
        match given {
            Some(address) if address.0 != "env" => Ok(address.clone()),
            _ => std::env::var(VARIABLE)
                .ok()
                .filter(|text| !text.is_empty())
                .map(Self)
                .ok_or_else(|| {
                    Failure::usage("no engine is named").hint(format!(
                        "--engine redis://host:6379/, or that in the variable {VARIABLE}"
                    ))
                }),
        }
    }

    /// Opens the engine without connecting to it. No call to it takes longer than `patience`.
    ///
    /// # Errors
    ///
    /// If this is the address of no engine that this program has.
    pub fn open(&self, patience: Duration) -> Result<OpenEngine, Failure> {
        let scheme = self.0.split_once("://").map_or("", |(scheme, _)| scheme);
        match scheme {
            #[cfg(feature = "redis")]
            "redis" | "rediss" => self.open_redis(patience),
            #[cfg(feature = "postgres")]
            "postgres" | "postgresql" => self.open_postgres(patience),
            "memory" => Err(Failure::usage("an engine in memory ends with its process")
                .hint("several processes need a server between them: --engine redis://host:6379/")),
            "" => Err(Failure::usage("the engine has no address")
                .hint("write it with its scheme: redis://host:6379/")),
            other => Err(
                Failure::usage(format!("this program has no engine for {other}://"))
                    .hint(format!("it has: {}", KNOWN.join(", "))),
            ),
        }
    }

    #[cfg(feature = "redis")]
    fn open_redis(&self, patience: Duration) -> Result<OpenEngine, Failure> {
        use windlass_remote::engine::RedisEngine;

        if self.0.starts_with("rediss") && !cfg!(feature = "tls") {
            return Err(Failure::usage("this program was built without TLS").hint(
                "cargo install windlass-cli --features tls, or a tunnel and redis://127.0.0.1/",
            ));
        }
        let engine = RedisEngine::builder(&self.0)
            .connect_timeout(patience.min(Duration::from_secs(2)))
            .call_timeout(patience)
            .build();
        // What the client says about an address that it cannot read may contain parts of it.
        let engine = engine.map_err(|_| {
            Failure::usage("this is no address of a Redis server")
                .hint("redis://[user:password@]host[:port]/[database]")
        })?;
        let server = engine.clone();
        Ok(OpenEngine {
            engine: Arc::new(engine),
            kind: "redis",
            place: self.to_string(),
            check: Arc::new(move || server.check().map(|report| report.warnings)),
        })
    }

    /// Whether the parameters of a PostgreSQL address demand TLS.
    #[cfg(feature = "postgres")]
    fn asks_for_tls(&self) -> bool {
        let parameters = self.0.split_once('?').map_or("", |(_, after)| after);
        parameters.split('&').any(|one| one == "sslmode=require")
    }

    #[cfg(feature = "postgres")]
    fn open_postgres(&self, patience: Duration) -> Result<OpenEngine, Failure> {
        use windlass_remote::engine::PostgresEngine;

        if self.asks_for_tls() && !cfg!(feature = "postgres-tls") {
            return Err(
                Failure::usage("this program was built without TLS for PostgreSQL").hint(
                    "cargo install windlass-cli --features postgres-tls, or a tunnel and sslmode=disable",
                ),
            );
        }
        let engine = PostgresEngine::builder(&self.0)
            .connect_timeout(patience.min(Duration::from_secs(2)))
            .call_timeout(patience)
            .build();
        // As above.
        let engine = engine.map_err(|_| {
            Failure::usage("this is no address of a PostgreSQL server")
                .hint("postgres://[user[:password]@]host[:port]/database")
        })?;
        let server = engine.clone();
        Ok(OpenEngine {
            engine: Arc::new(engine),
            kind: "postgres",
            place: self.to_string(),
            check: Arc::new(move || {
                // Its tables are made by the first who needs them.
                server.migrate()?;
                server.check().map(|report| report.warnings)
            }),
        })
    }
}

/// The schemes that [`EngineAddress::open`] takes.
const KNOWN: &[&str] = &[
    #[cfg(feature = "redis")]
    "redis://",
    #[cfg(feature = "tls")]
    "rediss://",
    #[cfg(feature = "postgres")]
    "postgres://",
];

#[cfg(test)]
mod tests {
    use super::{Duration, EngineAddress};

    fn address(text: &str) -> EngineAddress {
        text.parse().unwrap()
    }

    #[test]
    fn a_printed_address_has_no_secrets() {
        for secret in [
            "redis://:hunter2@db:1/0",
            "redis://me:hunter2@db:1/0",
            "rediss://me:hun@ter2@db:1/0",
            "redis://db:1/0?password=hunter2",
            "hunter2@db",
            "hunter2",
        ] {
            let (shown, debug) = (
                address(secret).to_string(),
                format!("{:?}", address(secret)),
            );
            assert!(
                !shown.contains("ter2") && !debug.contains("ter2"),
                "{shown}"
            );
        }
    }

    #[cfg(feature = "postgres")]
    #[test]
    fn tls_for_postgres_is_there_with_its_feature() {
        let address = address("postgres://me:hunter2@db/tasks?connect_timeout=1&sslmode=require");
        let told = format!("{:?}", address.open(Duration::from_secs(1)));
        assert_eq!(
            told.contains("--features postgres-tls"),
            !cfg!(feature = "postgres-tls"),
            "{told}"
        );
    }

    #[test]
    fn what_is_no_engine_is_refused_without_repeating_it() {
        for text in [
            "memory://hunter2",
            "hunter2",
            "mysql://:hunter2@db/",
            "redis://:hunter2@db:port/",
            "postgres://me:hunter2@db:port/",
            "redis://",
        ] {
            let refused = address(text).open(Duration::from_secs(1)).unwrap_err();
            let told = format!("{refused:?}");
            assert!(!told.contains("hunter2"), "{told}");
        }
    }
}
