//! Structured concurrency: groups of tasks that end together, and cancellation that spreads.
//!
//! `cargo run --release -p windlass --example task_group`

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use windlass::prelude::*;
use windlass::task::{self, CancelToken, ExecutionError};

/// A page that takes this long to load, and may fail. It notices when nobody wants it any more.
fn load(page: &str, millis: u64) -> Result<String, Box<dyn Error + Send + Sync>> {
    let me = task::current().ok_or("not in a task")?;
    if me
        .token()
        .wait_timeout(Duration::from_millis(millis))
        .unwrap_or(true)
    {
        println!("    {page}: cancelled, stops early");
        task::check()?;
    }
    if page.contains('?') {
        return Err(format!("no such page: {page}").into());
    }
    println!("    {page}: loaded");
    Ok(format!("<{page}>"))
}

fn main() -> Result<(), Box<dyn Error>> {
    let pool = Arc::new(executors::fixed_thread_pool(4)?);
    let pages = [("news", 5), ("weather", 10), ("sport", 2000)];

    println!("first success: the fastest mirror wins, the others stop");
    let fastest = pool.group().first_success().scope(|s| {
        let tasks = pages
            .each_ref()
            .map(|(page, millis)| s.spawn_fallible(|| load(page, *millis)));
        let tasks: Result<Vec<_>, _> = tasks.into_iter().collect();
        let page = s.join_first(tasks?)?;
        println!("    {:?}", s.counts());
        Ok::<_, ExecutionError>(page)
    });
    let fastest = fastest?;
    println!("  {fastest}");
    assert!(fastest.starts_with('<'), "one of them was loaded");

    println!("fail fast: one page is missing, so the rest is not worth the wait");
    let both = pool.group().fail_fast().scope(|s| {
        let good = s.spawn_fallible(|| load("sport", 2000))?;
        let bad = s.spawn_fallible(|| load("what?", 5))?;
        s.join()?;
        Ok::<_, ExecutionError>((good.join()?, bad.join()?))
    });
    let error = both.expect_err("a page is missing").to_string();
    println!("  {error}");
    assert!(
        error.contains("no such page"),
        "the first failure is the reason"
    );

    println!("a deadline: what is not there in 50 ms is left out");
    let page = pool.group().timeout(Duration::from_millis(50)).scope(|s| {
        let tasks = pages
            .each_ref()
            .map(|(page, millis)| s.spawn_fallible(|| load(page, *millis)));
        let parts = tasks.into_iter().filter_map(|task| task.ok()?.join().ok());
        parts.collect::<String>()
    });
    println!("  {page}");
    assert!(!page.contains("sport"), "nobody waited for two seconds");

    println!("a request and its children: one call cancels all of them");
    let (request, inner) = (CancelToken::new(), Arc::clone(&pool));
    let handler = pool
        .task()
        .name("handler")
        .cancelled_by(&request)
        .submit(move || {
            let child = inner
                .task()
                .as_child()
                .submit_fallible(|| load("sport", 2000));
            child.map(windlass::TaskHandle::join).ok()
        })?;
    request.wait_timeout(Duration::from_millis(20))?;
    request.cancel();
    let error = handler.join().expect_err("its request was cancelled");
    println!("  {error}");
    assert!(matches!(error, ExecutionError::Cancelled(_)));
    pool.close();
    assert_eq!(pool.active_count(), 0, "no child has outlived its request");
    Ok(())
}
