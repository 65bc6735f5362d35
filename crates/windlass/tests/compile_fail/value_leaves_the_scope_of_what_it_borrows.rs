use windlass::prelude::*;

fn main() {
    let pool = executors::fixed_thread_pool(1).unwrap();
    let longest = {
        let words = vec![String::from("dropped"), String::from("here")];
        pool.map(&words, |word| word.as_str()).unwrap()
    };
    println!("{longest:?}");
}
