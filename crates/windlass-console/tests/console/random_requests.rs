//! Random requests get an answer that the description of the API has, and never one that blames the
//! console.

use std::cell::RefCell;

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use windlass::ExecutorService;

use crate::kit::contract::Contract;
use crate::kit::stage::Stage;
use crate::remote::Memory;

/// A value of a field: what it should be, what it nearly is, and nonsense.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        (0_u32..20).prop_map(|number| number.to_string()),
        any::<i64>().prop_map(|number| number.to_string()),
        any::<f64>().prop_map(|number| number.to_string()),
        Just("1e400".to_owned()),
        any::<bool>().prop_map(|flag| flag.to_string()),
        Just("null".to_owned()),
        Just("[]".to_owned()),
        "[a-z_]{0,12}".prop_map(|text| format!("\"{text}\"")),
        prop_oneof![
            Just("\"abort\""),
            Just("\"caller_runs\""),
            Just("\"block\"")
        ]
        .prop_map(str::to_owned),
        any::<String>().prop_map(|text| serde_json::Value::from(text).to_string()),
    ]
}

fn field() -> impl Strategy<Value = String> {
    let known = proptest::sample::select(vec![
        "core",
        "max",
        "keep_alive_seconds",
        "allow_core_timeout",
        "capacity",
        "policy",
        "parallelism",
        "dry_run",
        "force",
        "revert_after_seconds",
        "seconds",
        "activity",
        "queue_age_seconds",
        "run_timeout_seconds",
        "stuck_seconds",
        "churn_per_minute",
    ]);
    prop_oneof![9 => known.prop_map(str::to_owned), 1 => "[a-z]{1,8}".prop_map(|name| name)]
}

fn body() -> impl Strategy<Value = String> {
    let object = proptest::collection::vec((field(), value()), 0..4).prop_map(|fields| {
        let fields: Vec<_> = fields
            .iter()
            .map(|(name, value)| format!("\"{name}\":{value}"))
            .collect();
        format!("{{{}}}", fields.join(","))
    });
    prop_oneof![6 => object, 2 => Just("{}".to_owned()), 1 => any::<String>()]
}

/// The variable part of a path, and its query.
fn segment() -> impl Strategy<Value = String> {
    let known = proptest::sample::select(vec!["web", "forks", "web:reject", "t1", "d1", "media"]);
    prop_oneof![
        6 => known.prop_map(str::to_owned),
        1 => "[a-zA-Z0-9._~-]{1,10}".prop_map(|name| name),
        1 => proptest::collection::vec(any::<u8>(), 1..6)
            .prop_map(|bytes| bytes.iter().map(|byte| format!("%{byte:02x}")).collect()),
    ]
}

fn query() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => Just(String::new()),
        1 => Just("?seconds=60".to_owned()),
        1 => Just("?names=micrometer".to_owned()),
        1 => "\\?[a-z]{1,5}=[a-z0-9%&=+]{0,8}".prop_map(|query| query),
    ]
}

fn version() -> impl Strategy<Value = Option<String>> {
    prop_oneof![
        Just(None),
        (0_u64..10).prop_map(|version| Some(format!("\"{version}\""))),
        "[ -~]{0,8}".prop_map(Some),
    ]
}

#[test]
fn random_requests_are_never_the_fault_of_the_console() {
    let stage = Stage::with(|builder| builder.remote(Memory::new()));
    let pool = stage.pool("web");
    let forks = windlass::forkjoin::ForkJoinPool::builder()
        .name("forks")
        .parallelism(1)
        .build();
    stage.registry.register(forks.as_ref().unwrap());
    stage.monitor.sample();
    let contract = Contract::new(stage.get("/api/v1/openapi.json").json());
    let mut operations = contract.operations();
    // A stream does not end.
    operations.retain(|(_, path)| path != "/events");
    let contract = RefCell::new(contract);
    let operation = proptest::sample::select(operations);
    let request = (operation, segment(), query(), body(), version());
    let mut runner = TestRunner::new(Config {
        cases: 1500,
        ..Config::default()
    });
    let outcome = runner.run(
        &request,
        |((method, template), segment, query, body, version)| {
            let start = template.find('{').unwrap_or(template.len());
            let end = template.find('}').map_or(start, |end| end + 1);
            let path = format!("{}{segment}{}{query}", &template[..start], &template[end..]);
            let path = if start == template.len() {
                format!("{template}{query}")
            } else {
                path
            };
            let mut request = stage.request(&method.to_uppercase(), &path);
            if method != "get" {
                request = request.bearer(stage.console.token()).json(&body);
            }
            if let Some(version) = version {
                request = request.header("If-Match", &version);
            }
            let response = request.send();
            prop_assert!(response.status < 500, "{}", response.text());
            contract.borrow_mut().check(&method, &template, &response);
            Ok(())
        },
    );
    outcome.unwrap();
    // The pool has survived it.
    pool.shutdown_now();
    stage.get("/healthz").expect(200);
}
