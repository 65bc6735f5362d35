//! Deliberate errors, one for each sanitizer: a tool that does not report its own would not report ours.

use std::cell::UnsafeCell;
use std::hint::black_box;
use std::thread;

struct Shared(UnsafeCell<u64>);

// Untrue: the race that the thread sanitizer must report.
unsafe impl Sync for Shared {}

static SHARED: Shared = Shared(UnsafeCell::new(0));

fn count() {
    for _ in 0..10_000 {
        unsafe { *black_box(SHARED.0.get()) += 1 };
    }
}

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("use-after-free") => {
            let word = Box::into_raw(Box::new(7_u64));
            drop(unsafe { Box::from_raw(black_box(word)) });
            println!("{}", unsafe { black_box(word).read() });
        }
        Some("leak") => {
            let mut lost = black_box(Box::into_raw(Box::new([7_u64; 32])));
            black_box(&mut lost);
            lost = std::ptr::null_mut();
            black_box(&mut lost);
            // The stack may still hold the address; other calls write over it.
            thread::spawn(|| black_box(Box::into_raw(Box::new([8_u64; 32]))).is_null())
                .join()
                .unwrap();
        }
        Some("race") => {
            let other = thread::spawn(count);
            count();
            other.join().unwrap();
        }
        Some("none") => {}
        other => panic!("use-after-free, leak, race or none, not {other:?}"),
    }
}
