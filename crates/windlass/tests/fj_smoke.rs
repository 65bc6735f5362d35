//! Smoke.
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use windlass::forkjoin::{Cx, ForkJoinPool, RecursiveTask, join};
use windlass::{ExecutorService, Submit};

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n as u64;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

struct Fib(u32);
impl RecursiveTask for Fib {
    type Output = u64;
    fn compute(self, cx: &Cx<'_>) -> u64 {
        if self.0 < 2 {
            return self.0 as u64;
        }
        let l = cx.fork(Fib(self.0 - 1));
        let r = Fib(self.0 - 2).compute(cx);
        l.join().unwrap() + r
    }
}

#[test]
fn fibs() {
    for p in [1, 2, 4, 16] {
        for _ in 0..20 {
            let pool = ForkJoinPool::new(p).unwrap();
            assert_eq!(pool.install(|| fib(18)), 2584);
            assert_eq!(pool.invoke(Fib(15)), 610);
            pool.close();
            assert!(pool.is_terminated());
        }
    }
}
#[test]
fn speed() {
    let pool = ForkJoinPool::new(2).unwrap();
    let t = Instant::now();
    let r = pool.install(|| fib(32));
    let d = t.elapsed();
    let joins = 2178309.0 * 2.0;
    println!(
        "fib(32) {r} {:?} {:.2} ns/join",
        d,
        d.as_nanos() as f64 / joins
    );
}
#[test]
fn submits() {
    let pool = ForkJoinPool::new(3).unwrap();
    let n = Arc::new(AtomicUsize::new(0));
    for _ in 0..10000 {
        let n = n.clone();
        pool.execute(move || {
            n.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
    }
    assert!(pool.await_quiescence(Duration::from_secs(20)));
    assert_eq!(n.load(Ordering::Relaxed), 10000);
    println!("{pool:?}");
    let mut h = pool.submit(|| 7).unwrap();
    assert_eq!(h.get().unwrap(), 7);
    pool.shutdown();
    assert!(pool.await_termination(Duration::from_secs(10)).unwrap());
}
#[test]
fn scopes() {
    let pool = ForkJoinPool::new(2).unwrap();
    for _ in 0..200 {
        let mut v = vec![0u32; 1000];
        pool.scope(|s| {
            for c in v.chunks_mut(10) {
                s.spawn(move || {
                    for x in c {
                        *x += 1
                    }
                });
            }
        });
        assert!(v.iter().all(|x| *x == 1));
        pool.install(|| {
            pool.scope(|s| {
                for c in v.chunks_mut(10) {
                    s.spawn(move || {
                        for x in c {
                            *x += 1
                        }
                    });
                }
            })
        });
        assert!(v.iter().all(|x| *x == 2));
    }
    pool.close();
}
