//! How many workers should a pool have?
//!
//! `N · U · (1 + W/C)`: processors, their target utilisation, and the ratio of the time that tasks wait to the
//! time that they compute. With the feature `cpu-time` the pool measures it:
//!
//! ```sh
//! cargo run --release -p windlass --features cpu-time --example pool_size
//! ```

use std::error::Error;
use std::time::Duration;

use windlass::interrupt;
use windlass::pool::{SizeAdvice, SizeController};
use windlass::prelude::*;

fn main() -> Result<(), Box<dyn Error>> {
    let ms = Duration::from_millis;
    let advice = SizeAdvice::new(8, 0.9, ms(45), ms(5));
    println!("by the formula: {advice}");
    assert_eq!(advice.recommended, Some(72), "8 · 0.9 · (1 + 45/5)");

    let pool = ThreadPoolExecutor::builder().core_pool_size(2).build()?;
    let mut controller = SizeController::new(1..=12, 1.0);
    println!("\na pool of 2, whose tasks mostly wait:");
    for _ in 0..24 {
        // A scheduled pool would call the controller once a second.
        let tasks: Result<Vec<_>, _> = (0..12)
            .map(|_| pool.submit(|| interrupt::sleep(Duration::from_millis(2))))
            .collect();
        for task in tasks? {
            task.join()??;
        }
        if let Some(change) = controller.adjust(&pool)? {
            println!("  {change}");
        }
        let workers = pool.core_pool_size();
        assert!((1..=12).contains(&workers), "it keeps to its bounds");
    }
    println!(
        "at the end, {} workers; {}",
        pool.core_pool_size(),
        pool.size_advice(1.0)
    );
    pool.close();
    Ok(())
}
