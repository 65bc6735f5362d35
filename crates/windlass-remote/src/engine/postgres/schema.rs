//! Makes the schema, and sees whether a server has it and is fit for tasks.

use super::super::EngineError;
use super::blocking::wait_for;
use super::engine::PostgresReport;
use super::errors::{classify, is_missing, too_late};
use super::pool::Pool;
use std::time::{Duration, Instant};
use tokio_postgres::{Client, Error, GenericClient};

/// The version that this build makes and needs. A change to a table or a function is a new one, with a step in [`STEPS`].
const VERSION: i32 = 4;

/// What a new version does to the tables of the one before; the first element leads from version 1 to 2. Empty where only functions
/// have changed: those have no data and are always made anew. A step stays as it is once it is released.
const STEPS: [&str; VERSION as usize - 1] = [
    "",
    "ALTER TABLE task SET (fillfactor = 50, autovacuum_vacuum_cost_delay = 0);",
    "ALTER TABLE reap ADD COLUMN spared bigint NOT NULL DEFAULT 0;",
];

/// How long a migration may take, with the wait for another one.
const LONGEST_MIGRATION: Duration = Duration::from_secs(60);

const TABLES: &str = include_str!("sql/tables.sql");
/// In order: `common` is used by the others.
const FUNCTIONS: [&str; 9] = [
    include_str!("sql/common.sql"),
    include_str!("sql/submit.sql"),
    include_str!("sql/take.sql"),
    include_str!("sql/report.sql"),
    include_str!("sql/workers.sql"),
    include_str!("sql/tick.sql"),
    include_str!("sql/queues.sql"),
    include_str!("sql/schedules.sql"),
    include_str!("sql/list.sql"),
];

/// What every function runs with, whoever calls it. The planner knows nothing of a fresh table and little of one that
/// fills and empties all the time; so what must not happen is turned off: above all reading an index from end to end, which a merge join does. `jit` is off because turned-off
/// plans have a high price, and that alone would start it.
fn settings(schema: &str) -> String {
    format!(
        "SET search_path = {schema}, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off \
         SET enable_nestloop = off SET enable_mergejoin = off SET plan_cache_mode = force_generic_plan SET jit = off"
    )
}

/// Checks the name of a schema: it is part of statements, and the channel of notices.
pub(super) fn check_schema_name(name: &str) -> Result<(), EngineError> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    let first = name.bytes().next();
    if (1..=50).contains(&name.len())
        && name.bytes().all(allowed)
        && !first.is_some_and(|b| b.is_ascii_digit())
        && !name.starts_with("pg_")
    {
        Ok(())
    } else {
        Err(EngineError::Protocol(format!(
            "{name:?} is not the name of a schema: 1 to 50 characters of a-z, 0-9 and '_', no digit and no \"pg_\" first"
        )))
    }
}

pub(super) fn migrate(pool: &Pool) -> Result<(), EngineError> {
    let schema = &pool.schema;
    pool.with(|session| {
        let migration = migration(session.client_mut(), schema);
        wait_for(migration, Instant::now() + LONGEST_MIGRATION).ok_or_else(too_late)?
    })
}

async fn migration(client: &mut Client, schema: &str) -> Result<(), EngineError> {
    if found_version(client, schema).await? == Some(VERSION) {
        return Ok(());
    }
    let transaction = client.transaction().await.map_err(said)?;
    // The lock ends with the transaction. Its key is the same for all schemas; migrations are rare.
    let lock = "SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock(7305808869231650924)";
    transaction.batch_execute(lock).await.map_err(said)?;
    let found = found_version(&transaction, schema).await?;
    if found == Some(VERSION) {
        return Ok(());
    }
    let text = match found {
        Some(version) => upgrade(schema, version).ok_or_else(|| other_version(version))?,
        None => creation(&transaction, schema).await?,
    };
    transaction.batch_execute(&text).await.map_err(said)?;
    transaction.commit().await.map_err(said)
}

/// Returns the statements that make all functions.
fn functions(schema: &str) -> String {
    let all = FUNCTIONS.iter();
    all.map(|text| text.replace("{settings}", &settings(schema)))
        .collect()
}

/// Returns the statements that lead from an older version to this one; `None` from a later one.
fn upgrade(schema: &str, found: i32) -> Option<String> {
    let steps = STEPS.get(usize::try_from(found - 1).ok()?..)?;
    let mut text = format!(
        "SET LOCAL search_path = {schema}, pg_temp;
        DO $$ DECLARE f regprocedure; BEGIN
          FOR f IN SELECT oid FROM pg_proc WHERE pronamespace = '{schema}'::regnamespace LOOP
            EXECUTE 'DROP ROUTINE ' || f;
          END LOOP;
        END $$;"
    );
    for step in steps.iter().filter(|step| !step.is_empty()) {
        text += step;
    }
    text += &functions(schema);
    text += &format!("UPDATE meta SET version = {VERSION};");
    Some(text)
}

/// Returns the statements that make everything.
async fn creation(
    client: &(impl GenericClient + Sync),
    schema: &str,
) -> Result<String, EngineError> {
    // `CREATE SCHEMA IF NOT EXISTS` asks for the right to create one even if it exists.
    let has = client
        .query_opt(
            "SELECT FROM pg_namespace WHERE nspname = $1",
            &[&schema.trim_matches('"')],
        )
        .await
        .map_err(said)?;
    let mut text = String::new();
    if has.is_none() {
        text += &format!("CREATE SCHEMA {schema};");
    }
    text += &format!("SET LOCAL search_path = {schema}, pg_temp;");
    text += TABLES;
    text += &functions(schema);
    text += &format!("CREATE TABLE meta AS SELECT {VERSION} AS version;");
    Ok(text)
}

fn said(error: Error) -> EngineError {
    classify(&error)
}

fn other_version(found: i32) -> EngineError {
    EngineError::Version {
        found,
        known: VERSION,
    }
}

/// Returns the version of the schema; `None` if there is none.
async fn found_version(
    client: &(impl GenericClient + Sync),
    schema: &str,
) -> Result<Option<i32>, EngineError> {
    // Not `to_regclass`, which may answer from what this session knew before it waited for another one's migration.
    let meta =
        "SELECT EXISTS (SELECT FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = $1 AND c.relname = 'meta')";
    let name = schema.trim_matches('"');
    let has = client.query_one(meta, &[&name]).await.map_err(said)?;
    if !has.get::<_, bool>(0) {
        return Ok(None);
    }
    let text = format!("SELECT version FROM {schema}.meta");
    match client.query_one(&text, &[]).await {
        Ok(row) => Ok(Some(row.get(0))),
        Err(error) if error.code().is_some_and(is_missing) => Ok(None),
        Err(error) => Err(said(error)),
    }
}

pub(super) fn check(pool: &Pool) -> Result<PostgresReport, EngineError> {
    pool.with(|session| {
        let until = Instant::now() + pool.address.call_timeout;
        wait_for(report(session.client(), &pool.schema), until).ok_or_else(too_late)?
    })
}

/// What matters: the defaults of the role and the server, not what the engine has set for its own sessions.
const SETTINGS: &str =
    "SELECT current_setting('server_version'), current_setting('server_version_num')::integer,
    (SELECT reset_val FROM pg_settings WHERE name = 'synchronous_commit'),
    current_setting('fsync'), current_setting('full_page_writes'), pg_is_in_recovery()";

async fn report(client: &Client, schema: &str) -> Result<PostgresReport, EngineError> {
    let row = client.query_one(SETTINGS, &[]).await.map_err(said)?;
    let (version, number): (String, i32) = (row.get(0), row.get(1));
    if number < 130_000 {
        return Err(EngineError::Protocol(format!(
            "PostgreSQL {version} is older than 13"
        )));
    }
    match found_version(client, schema).await? {
        Some(VERSION) => {}
        Some(other) => return Err(other_version(other)),
        None => {
            return Err(EngineError::Protocol(format!(
                "there is no schema {schema}; PostgresEngine::migrate makes it"
            )));
        }
    }
    let mut warnings = Vec::new();
    let mut warn = |holds: bool, warning: &str| {
        if holds {
            warnings.push(warning.to_owned());
        }
    };
    let default: Option<&str> = row.get(2);
    warn(
        default == Some("off"),
        "synchronous_commit is off: commits of other programs may be lost; the engine turns it on for tasks",
    );
    warn(
        row.get::<_, &str>(3) == "off",
        "fsync is off: tasks are lost when the machine ends",
    );
    warn(
        row.get::<_, &str>(4) == "off",
        "full_page_writes is off: data may be damaged when the machine ends",
    );
    warn(row.get(5), "the server is a standby: it takes no writes");
    Ok(PostgresReport { version, warnings })
}

#[cfg(test)]
mod tests {
    use super::check_schema_name;

    #[test]
    fn the_name_of_a_schema_is_checked() {
        for good in ["windlass", "a", "_x1", &"a".repeat(50)] {
            assert!(check_schema_name(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "A",
            "1a",
            "a b",
            "a\"b",
            "a;b",
            "a.b",
            "pg_x",
            &"a".repeat(51),
        ] {
            assert!(check_schema_name(bad).is_err(), "{bad}");
        }
    }
}
