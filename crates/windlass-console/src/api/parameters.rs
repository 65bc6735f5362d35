//! The parameters of a query, read one by one.

use std::collections::HashMap;

use axum::extract::{FromRequestParts, Query};
use axum::http::request::Parts;

use crate::failure::Failure;

/// The parameters that have not been taken yet.
#[derive(Debug)]
pub(crate) struct Parameters(HashMap<String, String>);

impl Parameters {
    /// Takes a parameter, if it is there.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    /// Refuses what has not been taken.
    pub(crate) fn end(self) -> Result<(), Failure> {
        match self.0.into_keys().next() {
            None => Ok(()),
            Some(name) => Err(Failure::invalid("there is no such parameter").in_field(name)),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Failure> {
        let invalid = |_| Failure::invalid("the query is malformed");
        let query = Query::<Vec<(String, String)>>::try_from_uri(&parts.uri).map_err(invalid)?;
        let mut parameters = HashMap::new();
        for (name, value) in query.0 {
            if parameters.contains_key(&name) {
                return Err(Failure::invalid("a parameter is given twice").in_field(name));
            }
            parameters.insert(name, value);
        }
        Ok(Self(parameters))
    }
}
