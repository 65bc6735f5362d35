//! What queueing theory says about a pool, where it can: independent arrivals, exponential times, a
//! fixed number of threads.

/// The figures of a pool in theory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Theory {
    /// The probability that a task that is accepted has to wait.
    pub delayed: f64,
    /// How long a task that is accepted waits on average, in seconds.
    pub mean_wait: f64,
    /// The probability that a task is rejected.
    pub rejection: f64,
}

/// Returns the figures of M/M/c: `c` threads and an unbounded queue, by the formula of Erlang; `None`,
/// if more work arrives than the threads can do, and the queue grows forever.
///
/// ```
/// // Two threads, each busy half of the time: one task in three has to wait.
/// let theory = windlass_cli::size::erlang_c(1.0, 1.0, 2).unwrap();
/// assert!((theory.delayed - 1.0 / 3.0).abs() < 1e-12);
/// ```
#[must_use]
pub fn erlang_c(per_second: f64, mean_seconds: f64, threads: usize) -> Option<Theory> {
    let offered = per_second * mean_seconds;
    let servers = threads as f64;
    if offered >= servers {
        return None;
    }
    // The probability that all are busy if nobody waits, by its recursion in the number of threads:
    // the sums of the closed form overflow.
    let blocked = (1..=threads).fold(1.0, |blocked, n| {
        let with = offered * blocked;
        with / (n as f64 + with)
    });
    let delayed = servers * blocked / offered.mul_add(-(1.0 - blocked), servers);
    Some(Theory {
        delayed,
        mean_wait: delayed * mean_seconds / (servers - offered),
        rejection: 0.0,
    })
}

/// Returns the figures of M/M/c/K: `c` threads and a queue of `queue` tasks, and what does not fit is
/// rejected.
///
/// ```
/// // One thread without a queue, as much work as it can do: every second task is rejected.
/// let theory = windlass_cli::size::mmck(1.0, 1.0, 1, 0);
/// assert!((theory.rejection - 0.5).abs() < 1e-12);
/// ```
#[must_use]
pub fn mmck(per_second: f64, mean_seconds: f64, threads: usize, queue: usize) -> Theory {
    let offered = per_second * mean_seconds;
    // The probabilities of each number of tasks in the pool, relative to that of all threads busy and
    // nobody waiting. Those of fewer tasks:
    let mut fewer = 0.0_f64;
    let mut term = 1.0;
    for n in (1..=threads).rev() {
        term *= n as f64 / offered;
        fewer += term;
        // What follows is too small to count, or so large that nobody waits.
        if term < fewer * 1e-18 || fewer.is_infinite() {
            break;
        }
    }
    // With each task that waits the probability changes by the same factor. Beyond one, they are taken
    // relative to that of the full queue instead, and added up from there.
    let ratio = offered / threads as f64;
    let length = queue as f64;
    let (terms, waiting, full, empty) = if ratio <= 1.0 {
        let sums = Geometric::new(ratio, queue);
        (sums.terms, sums.weighted, sums.last, 1.0)
    } else {
        let sums = Geometric::new(1.0 / ratio, queue);
        let waiting = length.mul_add(sums.terms, -sums.weighted);
        (sums.terms, waiting, 1.0, sums.last)
    };
    let total = f64::mul_add(empty, fewer, terms);
    let rejection = full / total;
    let accepted = per_second * (1.0 - rejection);
    Theory {
        delayed: (terms - full) / total / (1.0 - rejection),
        mean_wait: waiting / total / accepted,
        rejection,
    }
}

/// Sums of `1, r, r², …, r^n`, for a ratio of at most one.
struct Geometric {
    terms: f64,
    /// Each power times its exponent.
    weighted: f64,
    /// `r^n`.
    last: f64,
}

impl Geometric {
    /// Up to so many terms are added up one by one.
    const MAX_ADDED: usize = 4096;

    fn new(ratio: f64, n: usize) -> Self {
        if n <= Self::MAX_ADDED {
            return Self::added(ratio, n);
        }
        let count = n as f64;
        let log = ratio.ln();
        let last = (count * log).exp();
        if count * -log < 1e-4 {
            // Near one, the closed form is a difference of equal numbers; the terms are almost a line.
            let slope = log * count;
            return Self {
                terms: (count + 1.0) * (1.0 + slope / 2.0),
                weighted: count * (count + 1.0) / 2.0 * (1.0 + slope * 2.0 / 3.0),
                last,
            };
        }
        // 1 - r^(n+1) and 1 - r, exact also where both are small.
        let (rest, step) = (-((count + 1.0) * log).exp_m1(), -log.exp_m1());
        let terms = rest / step;
        Self {
            terms,
            // The derivative of the closed form; the end of a sum that has faded away is nothing.
            weighted: (terms - 1.0 - count * last * ratio) / step,
            last,
        }
    }

    fn added(ratio: f64, n: usize) -> Self {
        let (mut terms, mut weighted, mut power) = (1.0, 0.0, 1.0);
        for exponent in 1..=n {
            power *= ratio;
            terms += power;
            weighted += power * exponent as f64;
        }
        Self {
            terms,
            weighted,
            last: power,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{erlang_c, mmck};

    #[test]
    fn one_thread_agrees_with_the_textbook() {
        // M/M/1: a task waits with probability rho, and rho / (mu - lambda) on average.
        let theory = erlang_c(8.0, 0.1, 1).unwrap();
        assert!((theory.delayed - 0.8).abs() < 1e-12);
        assert!((theory.mean_wait - 0.4).abs() < 1e-12);
        assert!(erlang_c(10.0, 0.1, 1).is_none());
    }

    #[test]
    fn a_long_queue_is_like_an_unbounded_one() {
        let (unbounded, long) = (erlang_c(75.0, 0.1, 8).unwrap(), mmck(75.0, 0.1, 8, 2000));
        assert!((unbounded.delayed - long.delayed).abs() < 1e-9);
        assert!((unbounded.mean_wait - long.mean_wait).abs() < 1e-9);
        assert!(long.rejection < 1e-12);
    }

    #[test]
    fn an_overloaded_pool_rejects_what_it_cannot_do() {
        // Four times the work: three of four are rejected, whatever the queue.
        let theory = mmck(4000.0, 0.01, 10, 5000);
        assert!((theory.rejection - 0.75).abs() < 1e-9);
    }
}
