//! Shows on small sources what the checker sees: each test is a way around a rule that it closes.

use crate::source::Crate;
use crate::{prints_and_sleeps, uses_of_higher_layers, uses_past_sync};

fn read(files: &[(&'static str, &'static str)]) -> Crate {
    Crate::read(files.iter().copied())
}

/// The findings about one file `queue.rs` beside modules above and below it.
fn findings_in(queue: &'static str, check: impl Fn(&Crate) -> Vec<String>) -> Vec<String> {
    check(&read(&[
        (
            "lib.rs",
            "mod queue; mod pool; mod sync; pub use pool::Pool; pub mod prelude { pub use crate::Pool; }",
        ),
        ("queue.rs", queue),
        (
            "pool.rs",
            "pub struct Pool; pub fn run() {} pub mod inner { pub struct Deep; }",
        ),
        ("sync.rs", "pub use std::{sync::{Mutex, atomic}, thread};"),
    ]))
}

#[track_caller]
fn assert_upward(queue: &'static str) {
    let findings = findings_in(queue, uses_of_higher_layers);
    assert!(!findings.is_empty(), "not seen: {queue}");
}

#[track_caller]
fn assert_past_sync(queue: &'static str) {
    let findings = findings_in(queue, uses_past_sync);
    assert!(!findings.is_empty(), "not seen: {queue}");
}

#[track_caller]
fn assert_clean(queue: &'static str) {
    for check in [uses_of_higher_layers, uses_past_sync, prints_and_sleeps] {
        let findings = findings_in(queue, check);
        assert!(findings.is_empty(), "wrongly seen in {queue}: {findings:?}");
    }
}

/// The cycles among files of one folder, each as its files' names.
fn cycles(files: &[(&'static str, &'static str)]) -> Vec<String> {
    let cycles = read(files).file_cycles();
    let name = |path: &String| path.replace("pool/", "").replace(".rs", "");
    let names = |files: &std::collections::BTreeSet<String>| -> Vec<String> {
        files.iter().map(name).collect()
    };
    let mut cycles: Vec<_> = cycles
        .iter()
        .map(|cycle| names(&cycle.files).join(" "))
        .collect();
    cycles.sort();
    cycles
}

fn cycles_of(a: &'static str, b: &'static str) -> Vec<String> {
    cycles(&[
        ("lib.rs", "mod pool;"),
        (
            "pool/mod.rs",
            "mod a; mod b; pub use a::A; pub(crate) use b::{B as Renamed, helper};",
        ),
        ("pool/a.rs", a),
        ("pool/b.rs", b),
    ])
}

#[track_caller]
fn assert_cycle(a: &'static str, b: &'static str) {
    assert_eq!(cycles_of(a, b), ["a b"], "{a}\n{b}");
}

#[track_caller]
fn assert_no_cycle(a: &'static str, b: &'static str) {
    assert_eq!(cycles_of(a, b), [""; 0], "{a}\n{b}");
}

#[test]
fn a_path_upwards_is_seen_in_every_form() {
    assert_upward("use crate::pool::Pool;");
    assert_upward("use crate::{pool};");
    assert_upward("use crate::{sync::Mutex, pool::{self as p, inner::Deep}};");
    assert_upward("use super::pool::Pool as Pond;");
    assert_upward("mod inner { use super::super::pool::Pool; }");
    assert_upward("fn f(pool: &crate::pool::Pool) {}");
    assert_upward("fn f() { crate::pool::run(); }");
    assert_upward("fn f() { use crate::pool::run as go; go(); }");
    assert_upward("struct S { deep: Option<crate::pool::inner::Deep> }");
    assert_upward(
        "impl From<crate::pool::Pool> for u8 { fn from(_: crate::pool::Pool) -> u8 { 0 } }",
    );
}

#[test]
fn a_re_export_at_the_root_leads_to_the_module_that_defines_it() {
    assert_upward("use crate::Pool;");
    assert_upward("use crate::prelude::Pool;");
    assert_upward("use crate::prelude::*; fn f(pool: &Pool) {}");
    assert_upward("use crate as windlass; fn f(pool: &windlass::Pool) {}");
    assert_upward("extern crate self as windlass; fn f(pool: &windlass::Pool) {}");
}

#[test]
fn the_tokens_of_a_macro_are_read() {
    assert_upward("fn f() { assert!(matches!(x, Some(crate::pool::Pool))); }");
    assert_upward("macro_rules! m { () => { $crate::pool::run() } }");
    assert_past_sync("fn f() { println!(\"{:?}\", std::thread::current()); }");
    assert_past_sync("macro_rules! m { () => { ::std::thread::spawn(|| {}) } }");
    let findings = findings_in("fn f() { vec![println!(\"x\")]; }", prints_and_sleeps);
    assert_eq!(findings, ["queue.rs:1 names println"]);
}

#[test]
fn a_group_or_a_rename_does_not_hide_a_thread() {
    assert_past_sync("use std::{panic, thread};");
    assert_past_sync("use std::{sync::{Arc, atomic::{AtomicBool, Ordering}}};");
    assert_past_sync("use std as s; fn f() { s::thread::yield_now(); }");
    assert_past_sync("use std::sync as locks; fn f(m: &locks::Mutex<u8>) {}");
    assert_past_sync("use std::sync::*; fn f(m: &Mutex<u8>) {}");
    assert_past_sync("use std::*; fn f() { thread::yield_now(); }");
    assert_past_sync("use ::std::thread::spawn;");
    assert_past_sync("use core::sync::atomic::AtomicU8;");
    assert_past_sync("extern crate std as s; use s::thread;");
    assert_past_sync("use std::time::Instant; fn f() { Instant::now(); }");
    assert_past_sync("use std::time; fn f() -> time::SystemTime { time::SystemTime::now() }");
    assert_past_sync("mod inner { use std::thread; }");
}

#[test]
fn what_sync_offers_may_be_used() {
    assert_clean("use crate::sync::{Mutex, thread, atomic::AtomicU8}; fn f() { thread::park(); }");
    assert_clean("use std::{sync::Arc, time::{Duration, Instant}}; fn f(at: Instant) {}");
    assert_clean("fn thread() {} fn f() { thread(); let spawn = 1; }");
}

#[test]
fn tests_are_skipped_and_nothing_after_them() {
    assert_clean("#[cfg(test)] use crate::pool::Pool;");
    assert_clean("#[cfg(all(test, not(loom)))] mod tests { use crate::pool::Pool; }");
    assert_clean("#[cfg(any(all(test, loom), test))] mod tests { use std::thread; }");
    assert_clean("#[test] fn t() { std::thread::yield_now(); }");
    assert_clean("struct S; impl S { #[cfg(test)] fn t() { std::thread::yield_now(); } }");
    assert_upward("#[cfg(test)] mod tests {} use crate::pool::Pool;");
    assert_upward("#[cfg(any(test, feature = \"testing\"))] use crate::pool::Pool;");
    assert_upward("#[cfg(not(test))] use crate::pool::Pool;");
}

#[test]
fn unsafe_is_seen_in_every_form() {
    let lines = |text| {
        let krate = read(&[("lib.rs", text)]);
        krate.files[0].unsafe_lines.len()
    };
    assert_eq!(lines("fn f() { unsafe { g() } }"), 1);
    assert_eq!(lines("unsafe impl Send for S {}"), 1);
    assert_eq!(lines("unsafe fn f() {}"), 1);
    assert_eq!(lines("unsafe trait T { unsafe fn f(); }"), 2);
    assert_eq!(lines("fn f() { call!(unsafe { g() }); }"), 1);
    assert_eq!(lines("macro_rules! m { () => { unsafe { g() } } }"), 1);
    assert_eq!(lines("#[unsafe(no_mangle)] fn f() {}"), 1);
    assert_eq!(lines("// unsafe\nfn f() { let s = \"unsafe {\"; }"), 0);
    assert_eq!(
        lines("#[cfg(test)] fn f() { unsafe { g() } }\n#[cfg(loom)] fn g() { unsafe { h() } }"),
        1
    );
}

#[test]
fn files_that_use_each_other_are_a_cycle() {
    assert_cycle(
        "pub struct A(super::b::B);",
        "pub struct B; use super::a::A; pub fn helper() {}",
    );
    assert_cycle(
        "pub struct A; fn f() { super::b::helper(); }",
        "pub struct B; pub fn helper() { let a: crate::pool::a::A; }",
    );
    assert_no_cycle(
        "pub struct A(super::b::B);",
        "pub struct B; pub fn helper() {}",
    );
}

#[test]
fn a_re_export_of_the_folder_is_transparent() {
    assert_cycle(
        "pub struct A; use super::Renamed;",
        "pub struct B; pub fn helper() {} use crate::pool::A;",
    );
    assert_cycle(
        "pub struct A; fn f() { super::helper(); }",
        "pub struct B; pub fn helper(_: super::A) {}",
    );
    assert_no_cycle(
        "pub struct A; use super::Renamed;",
        "pub struct B; pub fn helper() {}",
    );
}

#[test]
fn a_longer_circle_is_one_cycle() {
    let found = cycles(&[
        ("lib.rs", "mod pool;"),
        ("pool/mod.rs", "mod a; mod b; mod c; mod d;"),
        ("pool/a.rs", "use super::b;"),
        ("pool/b.rs", "use super::c;"),
        ("pool/c.rs", "use super::a; use super::d;"),
        ("pool/d.rs", ""),
    ]);
    assert_eq!(found, ["a b c"]);
}

#[test]
fn what_the_root_of_a_folder_defines_is_used_by_no_file_in_it() {
    let found = cycles(&[
        ("lib.rs", "mod pool;"),
        ("pool/mod.rs", "mod a; pub struct Pool;"),
        ("pool/a.rs", "use super::Pool;"),
    ]);
    assert_eq!(found, ["a mod"]);
    let found = cycles(&[
        ("lib.rs", "mod pool;"),
        ("pool/mod.rs", "macro_rules! m { () => {} } mod a;"),
        ("pool/a.rs", "fn f() { m!(); }"),
    ]);
    assert_eq!(found, ["a mod"]);
}

#[test]
fn tests_make_no_cycle() {
    assert_no_cycle(
        "pub struct A(super::b::B);",
        "pub struct B; pub fn helper() {} #[cfg(test)] mod tests { use super::super::a::A; }",
    );
    let found = cycles(&[
        ("lib.rs", "mod pool;"),
        ("pool/mod.rs", "mod a; #[cfg(test)] mod models;"),
        ("pool/a.rs", "#[cfg(test)] use super::models::scenario;"),
        ("pool/models.rs", "use super::a; fn scenario() {}"),
    ]);
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_method_of_a_type_that_is_spread_over_files_is_a_use_of_its_file() {
    const A: &str = "pub struct A; impl A { pub fn first(&self) {} }";
    // By `self`, which names no file at all.
    assert_cycle(
        "pub struct A; impl A { pub fn first(&self) { self.second(); } }",
        "use super::a::A; impl A { pub fn second(&self) {} }",
    );
    assert_cycle(
        "pub struct A; impl A { pub fn first(&self) { Self::second(); } }",
        "use super::A; impl A { pub fn second() {} }",
    );
    assert_cycle(
        "pub struct A; impl A { pub fn first() { A::second(); } }",
        "use super::A; impl A { pub fn second() {} }",
    );
    assert_cycle(
        "pub struct A; impl A { pub fn first(&self) { assert!(self.second()); } }",
        "use super::A; impl A { pub fn second(&self) -> bool { true } }",
    );
    // By a value whose type is not seen, if only one type has such a method.
    assert_cycle(
        "pub struct A; impl A { pub fn first() { let a = make(); a.second(); } }",
        "use super::A; impl A { pub fn second(&self) {} }",
    );
    // Downwards only.
    assert_no_cycle(
        A,
        "use super::A; impl A { pub fn second(&self) { self.first(); } }",
    );
}

#[test]
fn a_method_of_the_same_name_of_another_type_is_not_a_use() {
    assert_no_cycle(
        "pub struct A; pub struct Other; impl A { pub fn first(&self) {} }
         impl Other { fn second(&self) { self.second(); } }
         fn f(list: &Other) { list.second(); }",
        "use super::A; impl A { pub fn second(&self) {} }",
    );
    assert_no_cycle(
        "pub struct A { list: Vec<u8> } impl A { pub fn first(&self) { self.list.second(); } }",
        "use super::A; impl A { pub fn second(&self) {} }",
    );
}

#[test]
fn a_module_and_a_function_of_one_name_are_told_apart() {
    const FILES: [(&str, &str); 3] = [
        ("lib.rs", "mod pool;"),
        (
            "pool/mod.rs",
            "mod join; mod top; mod user; pub use top::join;",
        ),
        ("pool/join.rs", "pub fn part() {}"),
    ];
    let found = |user| {
        let top = ("pool/top.rs", "use super::user; pub fn join() {}");
        let files: Vec<_> = FILES
            .into_iter()
            .chain([top, ("pool/user.rs", user)])
            .collect();
        cycles(&files)
    };
    assert_eq!(found("use super::join; fn f() { join::part(); }"), [""; 0]);
    assert_eq!(found("use super::join; fn f() { join(); }"), ["top user"]);
}

#[test]
fn the_body_of_a_macro_belongs_to_those_who_invoke_it() {
    assert_no_cycle(
        "pub struct A; use super::b::methods; methods!();",
        "macro_rules! methods { () => { fn f(_: $crate::pool::a::A) {} } } pub(crate) use methods;
         pub struct B; pub fn helper() {}",
    );
}

#[test]
fn files_that_cfg_chooses_between_do_not_see_each_other() {
    let found = cycles(&[
        ("lib.rs", "mod pool;"),
        (
            "pool/mod.rs",
            "#[cfg_attr(loom, path = \"a.rs\")] #[cfg_attr(not(loom), path = \"b.rs\")] mod backend;
             mod user; pub use backend::Lock;",
        ),
        ("pool/a.rs", "pub struct Lock; fn f(lock: &Lock) {}"),
        ("pool/b.rs", "pub struct Lock; fn f(lock: &Lock) {}"),
        ("pool/user.rs", "use super::Lock;"),
    ]);
    assert_eq!(found, [""; 0]);
}

#[test]
fn a_file_that_no_module_declares_is_found() {
    let krate = read(&[
        ("lib.rs", "mod pool;"),
        ("pool/mod.rs", ""),
        ("pool/lost.rs", ""),
    ]);
    assert_eq!(krate.orphans, ["pool/lost.rs"]);
}
