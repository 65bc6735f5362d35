//! Tasks inside a transaction of the program.

use crate::support::tasks::{Add, BOARD, Gated, Note};
use crate::support::{LONG, eventually};
use crate::world::{client, executor, new_queue, runtime, shared, worker};
use std::time::Duration;
use windlass_remote::engine::{Engine, EngineError, tokio_postgres};
use windlass_remote::{
    AttachError, QueueAdmin, RejectedReason, RemoteTask, TaskExecutorService, TaskId, TaskOptions,
};

#[test]
fn a_committed_task_runs_and_its_future_is_attached() {
    let Some(server) = shared() else { return };
    let (engine, queue) = (server.engine(), new_queue());
    let (executor, _worker) = (executor(&engine, &queue), worker(&engine, &queue, 1));
    // The worker is idle by now: it is the commit that tells it.
    assert_eq!(
        executor.submit_task(Add(0, 0)).unwrap().get_timeout(LONG),
        Ok(0)
    );
    let id = runtime().block_on(async {
        let mut client = client(server).await;
        let transaction = client.transaction().await.unwrap();
        let tasks = engine.in_transaction(&transaction, &executor);
        let id = tasks.submit(Add(1, 2)).await.unwrap();
        // Calls block, and do so on a thread of a runtime too.
        assert_eq!(
            executor.attach::<Add>(&id).unwrap_err(),
            AttachError::NotFound
        );
        transaction.commit().await.unwrap();
        id
    });
    let future = executor.attach::<Add>(&id).unwrap();
    assert_eq!(future.get_timeout(LONG), Ok(3));
    assert_eq!(engine.stats(&queue).unwrap().submitted, 2);
}

#[test]
fn a_transaction_that_is_rolled_back_leaves_nothing() {
    let Some(server) = shared() else { return };
    let (engine, queue) = (server.engine(), new_queue());
    let (executor, _worker) = (executor(&engine, &queue), worker(&engine, &queue, 1));
    let key = format!("{queue}/rolled-back");
    let id = runtime().block_on(async {
        let mut client = client(server).await;
        let transaction = client.transaction().await.unwrap();
        let tasks = engine.in_transaction(&transaction, &executor);
        let id = tasks.submit(Note(key.clone())).await.unwrap();
        transaction.rollback().await.unwrap();
        id
    });
    assert_eq!(
        executor.attach::<Note>(&id).unwrap_err(),
        AttachError::NotFound
    );
    // A task of the same id that is submitted afterwards is the first one.
    let again = executor.submit_task_id(id, Note(key.clone())).unwrap();
    assert_eq!(again.get_timeout(LONG), Ok(()));
    assert_eq!(BOARD.starts(&key).len(), 1);
    let stats = engine.stats(&queue).unwrap();
    assert_eq!((stats.submitted, stats.done, stats.ready), (1, 1, 0));
}

#[test]
fn nothing_starts_before_the_commit() {
    let Some(server) = shared() else { return };
    let (engine, queue) = (server.engine(), new_queue());
    let (executor, _worker) = (executor(&engine, &queue), worker(&engine, &queue, 2));
    let gate = format!("{queue}/early");
    BOARD.open(&gate);
    runtime().block_on(async {
        let mut client = client(server).await;
        let transaction = client.transaction().await.unwrap();
        let tasks = engine.in_transaction(&transaction, &executor);
        let id = tasks.submit(Gated::new(&gate)).await.unwrap();
        // What is submitted later overtakes it, and shows that the worker looks.
        for n in 0..3 {
            assert_eq!(
                executor.submit_task(Add(n, 1)).unwrap().get_timeout(LONG),
                Ok(n + 1)
            );
        }
        assert!(BOARD.starts(&gate).is_empty());
        transaction.commit().await.unwrap();
        let future = executor.attach::<Gated>(&id).unwrap();
        assert_eq!(future.get_timeout(LONG), Ok(gate.clone()));
    });
}

#[test]
fn a_task_and_a_row_are_committed_together() {
    let Some(server) = shared() else { return };
    let (engine, queue) = (server.engine(), new_queue());
    let executor = executor(&engine, &queue);
    runtime().block_on(async {
        let mut client = client(server).await;
        let table = format!("CREATE TABLE {queue}_orders (id bigint PRIMARY KEY)");
        client.batch_execute(&table).await.unwrap();
        let insert = format!("INSERT INTO {queue}_orders VALUES ($1)");
        for (order, expected) in [(1i64, true), (1, false), (2, true)] {
            let transaction = client.transaction().await.unwrap();
            let id: TaskId = format!("order:{order}").parse().unwrap();
            let tasks = engine.in_transaction(&transaction, &executor);
            let task = Add(order, 0);
            let submitted = tasks
                .submit_with(id, task, Add::options(), Duration::ZERO)
                .await;
            assert!(submitted.is_ok(), "a known id is no error");
            let inserted = transaction.execute(&insert, &[&order]).await;
            assert_eq!(inserted.is_ok(), expected);
            if inserted.is_ok() {
                transaction.commit().await.unwrap();
            }
        }
    });
    assert_eq!(engine.stats(&queue).unwrap().ready, 2);
}

#[test]
fn a_queue_refuses_inside_a_transaction_too() {
    let Some(server) = shared() else { return };
    let (engine, queue) = (server.engine(), new_queue());
    let executor = executor(&engine, &queue);
    let admin = QueueAdmin::new(engine.clone(), queue.clone());
    admin.set_capacity(Some(1)).unwrap();
    runtime().block_on(async {
        let mut client = client(server).await;
        let transaction = client.transaction().await.unwrap();
        let tasks = engine.in_transaction(&transaction, &executor);
        tasks.submit(Add(1, 1)).await.unwrap();
        let rejected = tasks.submit(Add(2, 2)).await.unwrap_err();
        assert_eq!(rejected.reason(), &RejectedReason::Full { capacity: 1 });
        assert_eq!(rejected.into_task(), Add(2, 2));
        transaction.commit().await.unwrap();
    });
    assert_eq!(engine.stats(&queue).unwrap().ready, 1);
    admin.close().unwrap();
    runtime().block_on(async {
        let client = client(server).await;
        // Without a transaction the client itself is one for each statement.
        let rejected = engine
            .in_transaction(&client, &executor)
            .submit(Add(1, 1))
            .await;
        assert_eq!(rejected.unwrap_err().reason(), &RejectedReason::Closed);
    });
}

#[test]
fn a_broken_transaction_returns_the_task_with_the_error() {
    let Some(server) = shared() else { return };
    let (engine, queue) = (server.engine(), new_queue());
    let executor = executor(&engine, &queue);
    runtime().block_on(async {
        let mut client = client(server).await;
        let transaction = client.transaction().await.unwrap();
        assert!(transaction.execute("SELECT 1 / 0", &[]).await.is_err());
        let tasks = engine.in_transaction(&transaction, &executor);
        let rejected = tasks.submit(Add(3, 4)).await.unwrap_err();
        assert!(
            matches!(
                rejected.reason(),
                RejectedReason::Engine(EngineError::Protocol(_))
            ),
            "{rejected}"
        );
        assert_eq!(rejected.into_task(), Add(3, 4));
    });
}

#[test]
fn a_delayed_task_of_a_transaction_starts_in_time() {
    let Some(server) = shared() else { return };
    let (engine, queue) = (server.engine(), new_queue());
    let (executor, _worker) = (executor(&engine, &queue), worker(&engine, &queue, 1));
    let id = runtime().block_on(async {
        let mut client = client(server).await;
        let transaction = client.transaction().await.unwrap();
        let tasks = engine.in_transaction(&transaction, &executor);
        let (id, delay) = (TaskId::random(), Duration::from_millis(80));
        let options = TaskOptions::default();
        let id = tasks
            .submit_with(id, Add(2, 2), options, delay)
            .await
            .unwrap();
        transaction.commit().await.unwrap();
        id
    });
    assert_eq!(engine.stats(&queue).unwrap().submitted, 1);
    let future = executor.attach::<Add>(&id).unwrap();
    assert_eq!(future.get_timeout(LONG), Ok(4));
}

#[test]
fn a_commit_with_a_task_is_never_asynchronous() {
    let Some(server) = shared() else { return };
    let (engine, queue) = (server.engine(), new_queue());
    let executor = executor(&engine, &queue);
    runtime().block_on(async {
        let mut client = client(server).await;
        client
            .batch_execute("SET synchronous_commit = off")
            .await
            .unwrap();
        let transaction = client.transaction().await.unwrap();
        let tasks = engine.in_transaction(&transaction, &executor);
        tasks.submit(Add(1, 1)).await.unwrap();
        assert_eq!(synchronous_commit(&transaction).await, "on");
        transaction.commit().await.unwrap();
        assert_eq!(
            synchronous_commit(&client).await,
            "off",
            "for this transaction alone"
        );
    });
}

async fn synchronous_commit(client: &(impl tokio_postgres::GenericClient + Sync)) -> String {
    let row = client.query_one("SHOW synchronous_commit", &[]).await;
    row.unwrap().get(0)
}

#[test]
fn an_engine_that_only_polls_runs_what_a_transaction_submits() {
    let Some(server) = shared() else { return };
    let polling = server.builder().poll_only(Duration::from_millis(10));
    let (engine, queue) = (polling.build().unwrap(), new_queue());
    let (executor, _worker) = (executor(&engine, &queue), worker(&engine, &queue, 1));
    let id = runtime().block_on(async {
        let client = client(server).await;
        let tasks = engine.in_transaction(&client, &executor);
        tasks.submit(Add(4, 4)).await.unwrap()
    });
    let future = executor.attach::<Add>(&id).unwrap();
    assert_eq!(future.get_timeout(LONG), Ok(8));
    let gate = format!("{queue}/polled");
    let running = executor.submit_task(Gated::new(&gate)).unwrap();
    eventually("it runs", || BOARD.starts(&gate).len() == 1);
    assert!(running.cancel_now().unwrap());
    eventually("it is told at the next renewal", || {
        BOARD.starts(&format!("stopped:{gate}")).len() == 1
    });
}
