//! Compares responses with the description of the API.

use std::collections::HashMap;

use jsonschema::Validator;
use serde_json::{Value, json};

use super::http::Response;

/// The description of the API, and which of its operations a test has seen answered.
#[derive(Debug)]
pub(crate) struct Contract {
    description: Value,
    validators: HashMap<String, Validator>,
}

impl Contract {
    pub(crate) fn new(description: Value) -> Self {
        Self {
            description,
            validators: HashMap::new(),
        }
    }

    /// Returns all operations: the method in lower case and the path with its parameters in braces.
    pub(crate) fn operations(&self) -> Vec<(String, String)> {
        let mut operations = Vec::new();
        for (path, item) in self.description["paths"].as_object().unwrap() {
            for method in item
                .as_object()
                .unwrap()
                .keys()
                .filter(|key| *key != "parameters")
            {
                operations.push((method.clone(), path.clone()));
            }
        }
        operations
    }

    /// Checks that the description has this answer of this operation, and that its body is as described.
    #[track_caller]
    pub(crate) fn check(&mut self, method: &str, path: &str, response: &Response) {
        let operation = &self.description["paths"][path][method.to_ascii_lowercase()];
        assert!(operation.is_object(), "{method} {path} is not described");
        let described = &operation["responses"][response.status.to_string()];
        assert!(
            described.is_object(),
            "{method} {path} is not described to answer {}: {}",
            response.status,
            response.text()
        );
        let described = self.resolved(described).clone();
        let media = described["content"].as_object().unwrap();
        let (content_type, content) = media.iter().next().unwrap();
        let sent = response.header("content-type").unwrap_or_default();
        assert!(
            sent.starts_with(&**content_type),
            "{method} {path} is {sent}"
        );
        if content_type == "application/json" {
            let name = content["schema"].to_string();
            self.check_schema(&name, &content["schema"], &response.json());
        }
    }

    /// Checks a value against a schema of the description by its name.
    #[track_caller]
    pub(crate) fn check_named(&mut self, name: &str, value: &Value) {
        let schema = json!({ "$ref": format!("#/components/schemas/{name}") });
        assert!(
            self.description["components"]["schemas"][name].is_object(),
            "{name}"
        );
        self.check_schema(name, &schema, value);
    }

    #[track_caller]
    fn check_schema(&mut self, name: &str, schema: &Value, value: &Value) {
        if !self.validators.contains_key(name) {
            let mut root = schema.clone();
            root["components"] = self.description["components"].clone();
            let validator = jsonschema::validator_for(&root).unwrap();
            self.validators.insert(name.to_owned(), validator);
        }
        let errors: Vec<String> = self.validators[name]
            .iter_errors(value)
            .map(|error| format!("{error} at {}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:?} in {value}");
    }

    fn resolved<'a>(&'a self, value: &'a Value) -> &'a Value {
        match value["$ref"].as_str() {
            Some(reference) => self.description.pointer(&reference[1..]).unwrap(),
            None => value,
        }
    }
}
