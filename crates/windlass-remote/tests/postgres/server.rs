//! What is done to a server.

use crate::support::eventually;
use crate::support::postgres::{PostgresServer, command, template};

impl PostgresServer {
    /// Ends the server without any warning: itself and all its processes at once.
    pub(crate) fn kill(&mut self) {
        // It starts no more processes from here on, so none survives it.
        self.signal("-STOP");
        let processes = self.processes();
        self.signal("-9");
        self.end();
        eventually("its processes are gone", || {
            let lives = |pid| std::path::Path::new("/proc").join(pid).exists();
            !processes.iter().any(lives)
        });
    }

    /// Sends a signal to the server and all its processes.
    pub(crate) fn signal(&self, signal: &str) {
        // Some of them may have ended meanwhile.
        let sent = command("kill")
            .arg(signal)
            .args(self.processes())
            .stderr(std::process::Stdio::null())
            .status();
        sent.unwrap();
    }

    /// Returns the ids of the server and of all its processes.
    fn processes(&self) -> Vec<String> {
        let pid = self.keeper.as_ref().and_then(|keeper| keeper.pid).unwrap();
        let children = format!("/proc/{pid}/task/{pid}/children");
        let children = std::fs::read_to_string(children).unwrap_or_default();
        let children = children.split_whitespace().map(Into::into);
        std::iter::once(pid.to_string()).chain(children).collect()
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
