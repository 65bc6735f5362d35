//! The service trait of scheduled executors.

use std::sync::Arc;

use super::executor::ScheduledThreadPoolExecutor;
use crate::executor::ExecutorService;

/// An executor service that also runs tasks later, and repeatedly.
///
/// [`Schedule`](super::Schedule) has the methods that take closures; every such service implements it.
///
/// This trait is sealed: a service outside this crate could not create timers. Wrap a
/// [`ScheduledThreadPoolExecutor`], or write code against `impl ScheduledExecutorService` or
/// `dyn ScheduledExecutorService`.
pub trait ScheduledExecutorService: ExecutorService + ScheduledPool {}

/// A private supertrait that seals [`ScheduledExecutorService`], with access to the pool that runs the
/// timers.
#[expect(
    unnameable_types,
    reason = "what cannot be named cannot be implemented"
)]
pub trait ScheduledPool {
    /// Returns the pool that runs the timers.
    fn scheduled_pool(&self) -> &ScheduledThreadPoolExecutor;
}

impl ScheduledPool for ScheduledThreadPoolExecutor {
    fn scheduled_pool(&self) -> &ScheduledThreadPoolExecutor {
        self
    }
}

impl ScheduledExecutorService for ScheduledThreadPoolExecutor {}

/// Implements the trait for pointers to an implementor.
macro_rules! impl_for_pointers {
    ($($pointer:ty),*) => {$(
        impl<E: ScheduledPool + ?Sized> ScheduledPool for $pointer {
            fn scheduled_pool(&self) -> &ScheduledThreadPoolExecutor {
                (**self).scheduled_pool()
            }
        }

        impl<E: ScheduledExecutorService + ?Sized> ScheduledExecutorService for $pointer {}
    )*};
}

impl_for_pointers!(&E, Arc<E>, Box<E>);
