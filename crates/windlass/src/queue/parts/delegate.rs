//! Queues that wrap another queue under a name and with a configuration of their own.

/// Implements [`BlockingQueue`](crate::queue::BlockingQueue) and `Debug` for a queue by calls to
/// the queue that it wraps.
///
/// A queue with a second type parameter lists it before its name, with its bounds.
macro_rules! delegate_queue {
    ($name:ident<$T:ident $(: $bound:path)?>, |$queue:ident| $inner:expr) => {
        $crate::queue::parts::delegate::delegate_queue!(
            [] $name<$T $(: $bound)?,>, |$queue| $inner
        );
    };
    ([$($param:tt)*] $name:ident<$T:ident $(: $bound:path)?, $($K:ident)?>, |$queue:ident| $inner:expr) => {
        impl<$T: Send $(+ $bound)?, $($param)*> $crate::queue::BlockingQueue<$T> for $name<$T, $($K)?> {
            #[inline]
            fn offer(&self, item: $T) -> Result<(), $crate::queue::PutError<$T>> {
                let $queue = self;
                ($inner).offer(item)
            }

            fn offer_timeout(
                &self,
                item: $T,
                timeout: std::time::Duration,
            ) -> Result<(), $crate::queue::PutError<$T>> {
                let $queue = self;
                ($inner).offer_timeout(item, timeout)
            }

            fn put(&self, item: $T) -> Result<(), $crate::queue::PutError<$T>> {
                let $queue = self;
                ($inner).put(item)
            }

            #[inline]
            fn poll(&self) -> Option<$T> {
                let $queue = self;
                ($inner).poll()
            }

            fn poll_timeout(
                &self,
                timeout: std::time::Duration,
            ) -> Result<Option<$T>, $crate::interrupt::Interrupted> {
                let $queue = self;
                ($inner).poll_timeout(timeout)
            }

            fn take(&self) -> Result<$T, $crate::interrupt::Interrupted> {
                let $queue = self;
                ($inner).take()
            }

            fn drain(&self, max: usize) -> Vec<$T> {
                let $queue = self;
                ($inner).drain(max)
            }

            fn drain_all(&self) -> Vec<$T> {
                let $queue = self;
                ($inner).drain_all()
            }

            fn remove_first(&self, wanted: &mut dyn FnMut(&$T) -> bool) -> Option<$T> {
                let $queue = self;
                ($inner).remove_first(wanted)
            }

            fn retain(&self, keep: &mut dyn FnMut(&$T) -> bool) -> Vec<$T> {
                let $queue = self;
                ($inner).retain(keep)
            }

            fn for_each(&self, f: &mut dyn FnMut(&$T)) {
                let $queue = self;
                ($inner).for_each(f);
            }

            fn peek(&self, f: &mut dyn FnMut(&$T)) {
                let $queue = self;
                ($inner).peek(f);
            }

            fn len(&self) -> usize {
                let $queue = self;
                ($inner).len()
            }

            fn remaining_capacity(&self) -> Option<usize> {
                let $queue = self;
                ($inner).remaining_capacity()
            }

            fn capacity(&self) -> Option<usize> {
                let $queue = self;
                ($inner).capacity()
            }

            fn set_capacity(
                &self,
                capacity: usize,
            ) -> Result<Option<usize>, $crate::queue::CapacityError> {
                let $queue = self;
                ($inner).set_capacity(capacity)
            }

            fn waiting(&self) -> Option<$crate::queue::Waiting> {
                let $queue = self;
                ($inner).waiting()
            }

            fn sees_every_element(&self) -> bool {
                let $queue = self;
                ($inner).sees_every_element()
            }

            fn has_partial_bounds(&self) -> bool {
                let $queue = self;
                ($inner).has_partial_bounds()
            }
        }

        impl<$T: Send + std::fmt::Debug $(+ $bound)?, $($param)*> std::fmt::Debug for $name<$T, $($K)?> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::queue::parts::describe::describe(self, stringify!($name), f)
            }
        }
    };
}

pub(crate) use delegate_queue;
