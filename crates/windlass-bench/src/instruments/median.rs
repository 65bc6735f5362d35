//! Where the median lies, as far as a few samples tell.

/// The interval may miss the median with this probability to either side.
const MISSED: f64 = 0.125;

/// The interval between two of the values in which the median of what they are drawn from lies
/// with three chances of four, whatever its distribution. Of three values that is from the least
/// to the largest, of eleven from the fourth to the eighth.
///
/// The number of values below the median is that of heads in as many tosses of a coin.
pub(crate) fn interval(values: &mut [f64]) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    let Some(last) = count.checked_sub(1) else {
        return (f64::NAN, f64::NAN);
    };
    let mut outside = 0;
    let mut term = 0.5_f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
    let mut sum = term;
    // Leaves out one more value at both ends while so few heads are improbable enough.
    while outside < last / 2 {
        term *= (count - outside) as f64 / (outside + 1) as f64;
        sum += term;
        if sum > MISSED {
            break;
        }
        outside += 1;
    }
    (values[outside], values[last - outside])
}

#[cfg(test)]
mod tests {
    use super::interval;

    /// The interval of the numbers from one to `count`.
    fn of(count: u32) -> (f64, f64) {
        let mut values: Vec<f64> = (1..=count).rev().map(f64::from).collect();
        interval(&mut values)
    }

    #[test]
    fn a_few_values_are_all_within() {
        assert_eq!(of(1), (1.0, 1.0));
        assert_eq!(of(3), (1.0, 3.0));
        assert_eq!(of(5), (1.0, 5.0));
    }

    #[test]
    fn more_values_close_in_on_the_median() {
        // Fewer than two heads of six tosses: 7 of 64; fewer than four of eleven: 11.3 %.
        assert_eq!(of(6), (2.0, 5.0));
        assert_eq!(of(11), (4.0, 8.0));
        assert_eq!(of(21), (8.0, 14.0));
    }

    #[test]
    fn nothing_has_no_interval() {
        assert!(interval(&mut []).0.is_nan());
    }
}
