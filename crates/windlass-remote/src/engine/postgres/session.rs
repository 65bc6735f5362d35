//! One connection, and the statements that it has prepared.

use super::super::EngineError;
use super::errors::classify;
use std::collections::HashMap;
use std::fmt::Write;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, Statement};

pub(super) type Parameter<'a> = &'a (dyn ToSql + Sync);

/// Returns the statement that calls a function of the schema. Both names are ours or checked, never a user's text.
pub(super) fn call_text(schema: &str, function: &str, parameters: usize) -> String {
    let mut text = format!("SELECT * FROM {schema}.{function}(");
    for n in 1..=parameters {
        let comma = if n == 1 { "" } else { ", " };
        // Writing to a string never fails.
        let _ = write!(text, "{comma}${n}");
    }
    text + ")"
}

pub(super) struct Session {
    client: Client,
    calls: HashMap<&'static str, Statement>,
}

impl Session {
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            calls: HashMap::new(),
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    pub(super) const fn client(&self) -> &Client {
        &self.client
    }

    pub(super) const fn client_mut(&mut self) -> &mut Client {
        &mut self.client
    }

    /// Calls a function of the schema, prepared at its first call.
    pub(super) async fn call(
        &mut self,
        schema: &str,
        function: &'static str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, EngineError> {
        let statement = match self.calls.get(function) {
            Some(statement) => statement.clone(),
            None => {
                let text = call_text(schema, function, parameters.len());
                let prepared = self.client.prepare(&text).await;
                let statement = prepared.map_err(|error| classify(&error))?;
                self.calls.insert(function, statement.clone());
                statement
            }
        };
        let answered = self.client.query(&statement, parameters).await;
        answered.map_err(|error| classify(&error))
    }
}
