//! How are blocks compressed by many threads and written in the order in which they were read, in bounded memory?
//!
//! A window of handles: the program reads blocks and submits them as long as fewer than the window are in flight, and joins
//! the oldest when it is full. The output is in order without any sorting, and memory holds a window of blocks, however
//! long the input.
//!
//! `cargo run --release -p windlass --example ordered_pipeline`

use std::collections::VecDeque;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use windlass::prelude::*;
use windlass::{TaskHandle, clock};

/// Fewer without optimisation, where compressing is many times slower.
const BLOCKS: usize = if cfg!(debug_assertions) { 100 } else { 400 };
const BLOCK: usize = 64 * 1024;

/// Counts the blocks in memory.
#[derive(Default)]
struct Memory {
    blocks: AtomicUsize,
    most: AtomicUsize,
}

/// A block of the input.
struct Block {
    bytes: Vec<u8>,
    memory: Arc<Memory>,
}

impl Drop for Block {
    fn drop(&mut self) {
        self.memory.blocks.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Reads the input, block by block.
fn input(memory: &Arc<Memory>) -> impl Iterator<Item = Block> + use<> {
    let memory = Arc::clone(memory);
    (0..BLOCKS).map(move |number| {
        let now = memory.blocks.fetch_add(1, Ordering::SeqCst) + 1;
        memory.most.fetch_max(now, Ordering::SeqCst);
        // Runs of letters, of different lengths.
        let run = b"aaabbcdddddddeefffffffffgg".repeat(1 + number % 7);
        let bytes = run.repeat(BLOCK / run.len() + 1);
        Block {
            bytes,
            memory: Arc::clone(&memory),
        }
    })
}

/// Compresses a block to its checksum and pairs of a length and a byte.
fn compress(block: &Block) -> Vec<u8> {
    let checksum = block.bytes.iter().fold(0_u64, |sum, &byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut compressed = checksum.to_le_bytes().to_vec();
    for run in block.bytes.chunk_by(|a, b| a == b) {
        for part in run.chunks(255) {
            compressed.extend([part.len() as u8, part[0]]);
        }
    }
    compressed
}

/// The output: its length and a sum that depends on the order.
#[derive(Debug, Default, PartialEq)]
struct Output {
    bytes: usize,
    sum: u64,
}

impl Output {
    fn write(&mut self, block: &[u8]) {
        self.bytes += block.len();
        for byte in block {
            self.sum = self.sum.rotate_left(5) ^ u64::from(*byte);
        }
    }
}

fn alone(memory: &Arc<Memory>) -> Output {
    let mut output = Output::default();
    for block in input(memory) {
        output.write(&compress(&block));
    }
    output
}

fn pipeline(
    pool: &ThreadPoolExecutor,
    memory: &Arc<Memory>,
    window: usize,
) -> Result<Output, Box<dyn Error>> {
    let mut output = Output::default();
    let mut in_flight: VecDeque<TaskHandle<Vec<u8>>> = VecDeque::new();
    for block in input(memory) {
        in_flight.push_back(pool.submit(move || compress(&block))?);
        if in_flight.len() < window {
            continue;
        }
        if let Some(oldest) = in_flight.pop_front() {
            output.write(&oldest.join()?);
        }
    }
    for rest in in_flight {
        output.write(&rest.join()?);
    }
    Ok(output)
}

fn main() -> Result<(), Box<dyn Error>> {
    let memory = Arc::new(Memory::default());
    let start = clock::now();
    let expected = alone(&memory);
    println!(
        "{BLOCKS} blocks of {} KiB, compressed to {} KiB",
        BLOCK / 1024,
        expected.bytes / 1024
    );
    println!("  one thread:              {:>8.1?}", clock::now() - start);
    let workers = std::thread::available_parallelism().map_or(2, usize::from);
    let pool = executors::fixed_thread_pool(workers)?;
    for window in [1, 2 * workers, 8 * workers] {
        let memory = Arc::new(Memory::default());
        let start = clock::now();
        let output = pipeline(&pool, &memory, window)?;
        let took = clock::now() - start;
        let most = memory.most.load(Ordering::SeqCst);
        println!(
            "  {workers} workers, window of {window:>3}: {took:>8.1?}, blocks in memory: {most} at most"
        );
        assert_eq!(output, expected, "the order is that of the input");
        assert!(most <= window + 1);
    }
    pool.close();
    Ok(())
}
