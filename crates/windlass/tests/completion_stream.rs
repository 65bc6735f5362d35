//! Completions as a stream.

#![cfg(feature = "stream")]
#![expect(clippy::unwrap_used, reason = "tests")]

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use futures_lite::{Stream, StreamExt};
use windlass::CompletionService;
use windlass::prelude::*;
use windlass::testing::{Gate, until};

fn service() -> CompletionService<u32, ThreadPoolExecutor> {
    CompletionService::new(executors::fixed_thread_pool(2).unwrap())
}

/// WL-156
#[test]
fn a_stream_returns_handles_in_the_order_of_completion_and_ends_when_nothing_is_outstanding() {
    let (service, gate) = (service(), Gate::new());
    let blocked = gate.clone();
    service
        .submit(move || {
            blocked.pass_uninterruptibly();
            1
        })
        .unwrap();
    service.submit(|| 2).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let order = runtime.block_on(async {
        let mut stream = service.stream();
        let second = stream.next().await.unwrap().await.unwrap();
        gate.open();
        let first = stream.next().await.unwrap().await.unwrap();
        assert!(stream.next().await.is_none());
        service.submit(|| 3).unwrap();
        let third = stream.next().await.unwrap().await.unwrap();
        [second, first, third]
    });
    assert_eq!(order, [2, 1, 3]);
}

/// WL-156
#[test]
fn a_stream_that_is_dropped_while_it_is_pending_loses_nothing() {
    let (service, gate) = (service(), Gate::new());
    let blocked = gate.clone();
    let body = move || {
        blocked.pass_uninterruptibly();
        1
    };
    service.submit(body).unwrap();
    {
        let mut stream = pin!(service.stream());
        let mut context = Context::from_waker(Waker::noop());
        assert!(stream.as_mut().poll_next(&mut context).is_pending());
        // Its claim leaves nothing to a second one.
        let second = pin!(service.stream()).poll_next(&mut context);
        assert!(matches!(second, Poll::Ready(None)));
    }
    gate.open();
    let done: Vec<_> = pollster::block_on(service.stream().collect());
    assert_eq!(done.len(), 1);
}

/// WL-156
#[test]
fn streams_on_several_threads_share_all_completions() {
    let service = service();
    const TASKS: u32 = 1_000;
    let sum: u32 = std::thread::scope(|scope| {
        for n in 0..TASKS {
            service.submit(move || n).unwrap();
        }
        let consume = || {
            pollster::block_on(async {
                let (mut stream, mut sum) = (service.stream(), 0);
                while let Some(done) = stream.next().await {
                    sum += done.await.unwrap();
                }
                sum
            })
        };
        let consumers = [
            scope.spawn(consume),
            scope.spawn(consume),
            scope.spawn(consume),
        ];
        consumers
            .into_iter()
            .map(|consumer| consumer.join().unwrap())
            .sum()
    });
    assert_eq!(sum, TASKS * (TASKS - 1) / 2);
    until("nothing is left", || service.poll().is_none());
}
