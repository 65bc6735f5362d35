//! Programs that must not compile: what is borrowed in a scope does not leave it.

/// WL-136
#[test]
fn what_a_scope_borrows_does_not_leave_it() {
    trybuild::TestCases::new().compile_fail("tests/compile_fail/*.rs");
}
