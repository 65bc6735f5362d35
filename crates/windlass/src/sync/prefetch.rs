//! Asking the processor for a cache line before it is written to.
//!
//! A line that another core has read has to be taken away from it before it can be written to, which takes
//! as long as the rest of a submission. The store itself would not wait for that, but the end of a lock
//! does: on x86 it waits until all stores before it are done. A line that was asked for some submissions
//! earlier is there by then.

#![cfg_attr(
    all(target_arch = "x86_64", not(miri)),
    expect(unsafe_code, reason = "there is no safe way to name the instruction")
)]

/// Asks for the cache line at the address, which need not be one of the program's.
///
/// The prefetch that `core::arch` has is one for reading, unless a program is compiled for newer processors only: a
/// line that both cores may read is left as it is by that. Other architectures than x86 do nothing.
#[inline(always)]
pub(crate) fn prefetch_for_write<T>(address: *const T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a prefetch changes no memory and no register, and never faults, whatever the address.
    // Processors of this architecture that do not know it take it for a `nop`.
    unsafe {
        std::arch::asm!(
            "prefetchw [{address}]",
            address = in(reg) address,
            options(nostack, preserves_flags, readonly)
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = address;
}

#[cfg(all(test, not(loom), not(shuttle)))]
mod tests {
    use std::ptr;

    use super::prefetch_for_write;

    #[test]
    fn any_address_will_do_and_nothing_changes() {
        let value = [7_u64; 16];
        prefetch_for_write(&raw const value);
        prefetch_for_write(value.as_ptr().wrapping_add(1 << 40));
        prefetch_for_write(ptr::null::<u8>());
        assert_eq!(value, [7; 16]);
    }
}
