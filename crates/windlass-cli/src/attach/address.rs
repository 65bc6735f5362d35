//! Where the console is, and the token that writes need.

use std::path::PathBuf;

use clap::Args;

use crate::exit::Failure;

/// The options of commands that attach to a console.
#[derive(Debug, Clone, Args)]
pub struct ConsoleOptions {
    /// Address of the console
    #[arg(
        short = 'A',
        long,
        value_name = "HOST:PORT",
        default_value = "127.0.0.1:7171",
        env = "WINDLASS_ADDRESS",
        help_heading = "Console"
    )]
    pub address: String,

    /// File with the token that changes need; without it, the variable WINDLASS_TOKEN
    #[arg(long, value_name = "FILE", help_heading = "Console")]
    pub token_file: Option<PathBuf>,
}

impl ConsoleOptions {
    /// Returns the address with its scheme and without a slash at its end.
    pub(super) fn url(&self) -> Result<String, Failure> {
        let address = self.address.trim_end_matches('/');
        if address.starts_with("https://") {
            return Err(Failure::usage("consoles are reached by http").hint(
                "through a tunnel, as ssh -L 7171:localhost:7171 makes it, nobody listens in",
            ));
        }
        if address.bytes().all(|byte| byte.is_ascii_digit()) {
            let text = format!("{address:?} is no address of a console");
            return Err(Failure::usage(text).hint(format!(
                "an address is HOST:PORT; on this machine: 127.0.0.1:{address}"
            )));
        }
        Ok(match address.strip_prefix("http://") {
            Some(_) => address.to_owned(),
            None => format!("http://{address}"),
        })
    }

    /// Returns the token, if there is one.
    pub(super) fn token(&self) -> Result<Option<String>, Failure> {
        let Some(path) = &self.token_file else {
            let token = std::env::var("WINDLASS_TOKEN").ok();
            return Ok(token.filter(|token| !token.is_empty()));
        };
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::new(format!(
                "cannot read the token in {}: {error}",
                path.display()
            ))
        })?;
        Ok(Some(text.trim().to_owned()))
    }
}
