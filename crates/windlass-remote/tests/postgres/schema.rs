//! The schema, the plans, and what a server is asked at the start.

use crate::support::postgres::PostgresServer;
use crate::support::tasks::Add;
use crate::support::{LONG, eventually};
use crate::world::{executor, new_queue, shared, worker};
use windlass_remote::TaskExecutorService;
use windlass_remote::engine::{Engine, EngineError, PostgresEngine};

#[test]
fn migrating_many_times_at_once_makes_one_schema() {
    let Some(server) = shared() else { return };
    let make = || server.builder().schema("many").build().unwrap();
    assert!(
        matches!(make().check(), Err(EngineError::Protocol(message)) if message.contains("migrate")),
        "it says what to do"
    );
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..6).map(|_| scope.spawn(|| make().migrate())).collect();
        for one in all {
            assert_eq!(one.join().unwrap(), Ok(()));
        }
    });
    let engine = server.builder().schema("many").connect().unwrap();
    let queue = new_queue();
    let (executor, _worker) = (executor(&engine, &queue), worker(&engine, &queue, 1));
    assert_eq!(
        executor.submit_task(Add(1, 1)).unwrap().get_timeout(LONG),
        Ok(2)
    );
    assert!(
        !server.engine().queues().unwrap().contains(&queue),
        "schemas are apart"
    );
}

#[test]
fn a_schema_of_a_later_release_is_left_alone() {
    let Some(server) = shared() else { return };
    let engine = server.builder().schema("later").build().unwrap();
    engine.migrate().unwrap();
    let raise = "UPDATE later.meta SET version = 99";
    server.administer("postgres", &[raise]).unwrap();
    for refused in [engine.migrate(), engine.check().map(drop)] {
        assert!(matches!(
            refused,
            Err(EngineError::Version { found: 99, .. })
        ));
    }
}

#[test]
fn a_schema_of_an_older_release_is_brought_up_to_date_with_its_tasks() {
    let Some(server) = shared() else { return };
    let engine = server.builder().schema("older").build().unwrap();
    engine.migrate().unwrap();
    let queue = new_queue();
    let executor = executor(&engine, &queue);
    let future = executor.submit_task(Add(1, 2)).unwrap();
    // What an older release has left: its version, tables with other settings and without a column, and functions that are others now.
    let old = "UPDATE older.meta SET version = 1; \
        ALTER TABLE older.task RESET (fillfactor, autovacuum_vacuum_cost_delay); \
        ALTER TABLE older.reap DROP COLUMN spared; \
        CREATE OR REPLACE FUNCTION older.now_ms() RETURNS bigint LANGUAGE sql AS 'SELECT 5::bigint'; \
        CREATE FUNCTION older.gone(integer) RETURNS integer LANGUAGE sql AS 'SELECT $1'";
    server.administer("postgres", &[old]).unwrap();
    assert_eq!(engine.now(), Ok(5));
    let refused = engine.check().unwrap_err();
    assert!(
        matches!(refused, EngineError::Version { found: 1, .. })
            && refused.to_string().contains("migrate"),
        "{refused}"
    );
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..3).map(|_| scope.spawn(|| engine.migrate())).collect();
        for one in all {
            assert_eq!(one.join().unwrap(), Ok(()));
        }
    });
    engine.check().unwrap();
    assert!(
        engine.now().unwrap() > 5,
        "the functions are those of this release"
    );
    let gone = server.administer("postgres", &["SELECT older.gone(1)"]);
    assert!(gone.is_err(), "and no others");
    let settings = "DO $$ BEGIN ASSERT
        (SELECT array_agg(o ORDER BY o) FROM pg_class, unnest(reloptions) AS o WHERE oid = 'older.task'::regclass) =
        (SELECT array_agg(o ORDER BY o) FROM pg_class, unnest(reloptions) AS o WHERE oid = 'windlass.task'::regclass);
        END $$";
    server
        .administer("postgres", &[settings])
        .expect("the table has the settings of a new one");
    let _worker = worker(&engine, &queue, 1);
    assert_eq!(future.get_timeout(LONG), Ok(3), "the task is still there");
}

#[test]
fn the_name_of_a_schema_is_checked_before_it_is_used() {
    let name = "x; DROP SCHEMA public";
    let refused = PostgresEngine::builder("postgres://h/d")
        .schema(name)
        .build();
    assert!(matches!(refused, Err(EngineError::Protocol(_))));
}

#[test]
fn a_server_is_checked() {
    let settings = [
        "fsync=off",
        "full_page_writes=off",
        "synchronous_commit=off",
    ];
    let Some(server) = PostgresServer::start(&settings) else {
        return;
    };
    let engine = server.engine();
    let report = engine.check().unwrap();
    assert_eq!(report.warnings.len(), 3, "{report:?}");
    assert!(report.version.starts_with(|c: char| c.is_ascii_digit()));
    let Some(sound) = shared() else { return };
    assert!(sound.engine().check().unwrap().warnings.is_empty());
    // What the engine's own sessions have, seen by a function that they call.
    server
        .administer(
            "postgres",
            &["CREATE OR REPLACE FUNCTION windlass.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS \
               $$ SELECT CASE current_setting('synchronous_commit') WHEN 'on' THEN 1 ELSE 0 END::bigint $$"],
        )
        .unwrap();
    assert_eq!(
        engine.now(),
        Ok(1),
        "commits are synchronous where the default is not"
    );
}

#[test]
fn a_user_without_rights_is_denied_and_one_with_few_can_do_everything() {
    let Some(server) = shared() else { return };
    let (role, queue) = ("few_rights", new_queue());
    server
        .administer("postgres", &[&format!("CREATE ROLE {role} LOGIN")])
        .unwrap();
    let address = format!("postgres://{role}@127.0.0.1:{}/postgres", server.port);
    let engine = PostgresEngine::builder(&address).build().unwrap();
    let denied = engine.queues().unwrap_err();
    assert!(matches!(denied, EngineError::Denied(_)), "{denied}");
    // The rights of the guide, and no others.
    server
        .administer(
            "postgres",
            &[
                &format!("GRANT USAGE ON SCHEMA windlass TO {role}"),
                &format!("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA windlass TO {role}"),
                &format!("GRANT USAGE ON ALL SEQUENCES IN SCHEMA windlass TO {role}"),
            ],
        )
        .unwrap();
    engine.check().unwrap();
    assert_eq!(engine.migrate(), Ok(()), "there is nothing to do");
    let (executor, worker) = (executor(&engine, &queue), worker(&engine, &queue, 2));
    assert_eq!(
        executor.submit_task(Add(1, 2)).unwrap().get_timeout(LONG),
        Ok(3)
    );
    let admin = windlass_remote::QueueAdmin::new(engine.clone(), queue.clone());
    admin.pause().unwrap();
    admin.resume().unwrap();
    admin.limit_concurrency("test.add", Some(1)).unwrap();
    assert_eq!(
        executor.submit_task(Add(3, 3)).unwrap().get_timeout(LONG),
        Ok(6)
    );
    assert!(admin.stats().is_ok() && admin.workers().is_ok() && admin.schedules().is_ok());
    assert!(worker.shutdown(LONG));
    assert_eq!(worker.stats().last_engine_error, None);
}

#[test]
fn a_password_is_in_no_debug_and_no_error() {
    let Some(server) = shared() else { return };
    let address = format!("postgres://nobody:hunter2@127.0.0.1:{}/none", server.port);
    let builder = PostgresEngine::builder(&address);
    let shown = format!("{builder:?}");
    let engine = builder.build().unwrap();
    let error = engine.check().unwrap_err();
    assert!(matches!(error, EngineError::Denied(_)), "{error}");
    let wrong = PostgresEngine::builder("postgres://:hunter2@[bad")
        .build()
        .unwrap_err();
    let shown = format!("{shown} {engine:?} {error:?} {error} {wrong:?} {wrong}");
    assert!(!shown.contains("hunter2"), "{shown}");
}

#[test]
fn plans_use_an_index_on_a_fresh_table() {
    let Some(server) = PostgresServer::start(&["autovacuum=off"]) else {
        return;
    };
    let engine = server.engine();
    let queue = new_queue();
    let executor = executor(&engine, &queue);
    // Planned while the tables are empty; the plans stay.
    executor
        .submit_all((0..10).map(|n| Add(n, 1)).collect())
        .unwrap();
    let worker = worker(&engine, &queue, 4);
    let futures = executor
        .submit_all((0..4_000).map(|n| Add(n, 1)).collect())
        .unwrap();
    for future in &futures {
        assert!(future.get_timeout(LONG).is_ok());
    }
    assert!(worker.shutdown(LONG));
    // The server counts what a connection did at its end at the latest.
    drop((worker, executor, futures, engine));
    let raise_if = |condition: &str| {
        let block = format!("DO $$ BEGIN IF {condition} THEN RAISE 'so it is'; END IF; END $$");
        server.administer("postgres", &[&block])
    };
    let index = "FROM pg_stat_user_indexes WHERE schemaname = 'windlass' AND relname = 'task'";
    eventually("the index of ready tasks was used", || {
        raise_if(&format!(
            "(SELECT sum(idx_tup_read) {index} AND indexrelname = 'task_ready') < 4010"
        ))
        .is_ok()
    });
    let scans = "EXISTS (SELECT FROM pg_stat_user_tables WHERE schemaname = 'windlass' \
        AND relname IN ('task', 'reply') AND seq_tup_read > 0)";
    raise_if(scans).expect("no table that grows was read from end to end");
    // Nor an index: a task is met a few times, not thousands of times.
    raise_if(&format!("(SELECT sum(idx_tup_read) {index}) > 40 * 4010")).unwrap();
}
