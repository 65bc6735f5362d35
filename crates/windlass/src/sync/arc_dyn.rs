//! A value of a generic type as an `Arc<dyn Trait>`, without a second `Arc` around one.

use std::any::Any;
use std::sync::Arc;

/// Returns `value` itself if it is an `Arc<D>` already, otherwise the `Arc` that `wrap` creates.
///
/// Options that take `impl Trait + 'static` accept an `Arc<dyn Trait>` by a forwarding impl; this
/// saves the indirection, and the `Arc` that was passed in stays the one in use.
pub(crate) fn arc_dyn<V: 'static, D: ?Sized + 'static>(
    value: V,
    wrap: impl FnOnce(V) -> Arc<D>,
) -> Arc<D> {
    downcast(value).unwrap_or_else(wrap)
}

/// Returns the value as a `W` if that is its type, else unchanged.
pub(crate) fn downcast<V: 'static, W: 'static>(value: V) -> Result<W, V> {
    let mut slot = Some(value);
    let any: &mut dyn Any = &mut slot;
    let same = any.downcast_mut::<Option<W>>().and_then(Option::take);
    same.ok_or_else(|| slot.expect("it is taken only as what it is"))
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::fmt::Display;
    use std::sync::Arc;

    use super::arc_dyn;

    #[test]
    fn an_arc_of_the_trait_stays_the_same_one() {
        let given: Arc<dyn Display + Send + Sync> = Arc::new(7);
        let shared = arc_dyn(Arc::clone(&given), |value| {
            Arc::new(value) as Arc<dyn Display + Send + Sync>
        });
        assert!(Arc::ptr_eq(&given, &shared));
    }

    #[test]
    fn another_value_is_wrapped() {
        let shared = arc_dyn("seven", |value| {
            Arc::new(value) as Arc<dyn Display + Send + Sync>
        });
        assert_eq!(shared.to_string(), "seven");
    }
}
