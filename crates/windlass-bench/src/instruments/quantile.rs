//! Quantiles by nearest rank.

/// The value below which the given share of the values lies; of no values, NaN.
pub(crate) fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    let rank = (last as f64 * share).round() as usize;
    values.get(rank).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::quantile;

    #[test]
    fn the_median_of_an_odd_number_is_the_middle_one() {
        assert_eq!(quantile(&mut [3.0, 1.0, 2.0], 0.5), 2.0);
    }

    #[test]
    fn the_ends_are_the_extremes() {
        let mut values = [5.0, 9.0, 7.0, 1.0];
        assert_eq!(quantile(&mut values, 0.0), 1.0);
        assert_eq!(quantile(&mut values, 1.0), 9.0);
    }

    #[test]
    fn nothing_has_no_quantile() {
        assert!(quantile(&mut [], 0.5).is_nan());
    }
}
