//! What is done to a server.

use crate::support::postgres::{PostgresServer, command, template};

impl PostgresServer {
    /// Ends the server without any warning: itself and all its processes at once.
    pub(crate) fn kill(&mut self) {
        self.signal("-9");
        self.end();
    }

    /// Sends a signal to the server and all its processes.
    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.keeper.as_ref().and_then(|keeper| keeper.pid).unwrap();
        let children = format!("/proc/{pid}/task/{pid}/children");
        let children = std::fs::read_to_string(children).unwrap_or_default();
        // Some children may have ended meanwhile.
        let sent = command("kill")
            .args([signal, &pid.to_string()])
            .args(children.split_whitespace())
            .stderr(std::process::Stdio::null())
            .status();
        sent.unwrap();
    }

    /// Sends statements as an administrator would, to a database.
    pub(crate) fn administer(&self, database: &str, statements: &[&str]) -> Result<(), String> {
        let address = format!("postgres://windlass@127.0.0.1:{}/{database}", self.port);
        let mut psql = command(template().unwrap().bin.join("psql"));
        psql.args(["-qX", "-v", "ON_ERROR_STOP=1", &address]);
        for statement in statements {
            psql.args(["-c", statement]);
        }
        let output = psql.output().unwrap();
        if output.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }
}
