//! Reading and printing are inverses, and what cannot be read is named with its line.

use super::*;

const CORPUS: [&str; 2] = [
    include_str!("../../corpus/thread_pool.txt"),
    include_str!("../../corpus/scheduled.txt"),
];

fn print(scenarios: &[Scenario]) -> String {
    scenarios.iter().map(Scenario::to_string).collect()
}

#[test]
fn the_corpus_is_printed_as_it_was_read() {
    for text in CORPUS {
        assert_eq!(print(&parse(text).unwrap()), text);
    }
}

#[test]
fn every_kind_of_step_is_printed_as_it_was_read() {
    let steps = [
        "pool core=0 max=2 keep_alive=20 queue=linked:4 policy=abort core_timeout=true",
        "pool core=1 max=1 keep_alive=never queue=array:2 policy=discard-oldest factory_limit=0",
        "pool core=1 max=1 keep_alive=0 queue=sync policy=caller-runs",
        "pool core=1 max=1 keep_alive=0 queue=priority policy=discard",
        "pool kind=scheduled core=2 policy=abort remove_on_cancel=true \
         periodic_after_shutdown=false delayed_after_shutdown=true",
        "execute t1 priority=-7 instant",
        "submit t2 failing",
        "schedule t3 delay=3600000 instant",
        "fixed_rate t4 initial=0 period=1",
        "fixed_delay t5 initial=5 delay=0 failing",
        "finish t1",
        "fail t1",
        "cancel t1",
        "cancel t1 interrupt",
        "get t1 timeout=5",
        "future t1",
        "set core=3",
        "set max=4",
        "set keep_alive=0",
        "set core_timeout=false",
        "set policy=caller-runs",
        "set remove_on_cancel=true",
        "set periodic_after_shutdown=true",
        "set delayed_after_shutdown=false",
        "prestart",
        "prestart all",
        "remove t1",
        "purge",
        "shutdown",
        "shutdown_now",
        "await timeout=500",
    ];
    for text in steps {
        assert_eq!(parse_step(text).unwrap().to_string(), text);
    }
}

#[test]
fn comments_stay_where_they_are_and_the_first_is_the_name() {
    let text = "# head\n\n# scenario 3\npurge\n# in between\nshutdown\n> ok\n= none\n# last\n\n";
    let scenarios = parse(text).unwrap();
    assert_eq!(print(&scenarios), text);
    assert!(!scenarios[0].has_steps());
    assert_eq!(scenarios[1].name(), Some("scenario 3"));
    let numbers: Vec<usize> = scenarios[1].steps().map(|line| line.number).collect();
    assert_eq!(numbers, [4, 6]);
}

/// Found by fuzzing.
#[test]
fn stray_returns_at_the_end_of_a_line_are_no_part_of_it() {
    let scenarios = parse("# name\r\r\nshutdown\r\r\n> ok\r\r\n= none\r\r\n").unwrap();
    assert_eq!(print(&scenarios), "# name\nshutdown\n> ok\n= none\n\n");
}

#[test]
fn expectations_can_be_taken_away() {
    let scenario = parse("shutdown\n> ok\n= none\n").unwrap().remove(0);
    assert_eq!(scenario.without_expectations().to_string(), "shutdown\n\n");
}

#[test]
fn what_cannot_be_read_is_named_with_its_line() {
    let cases = [
        ("jump t1", "line 1: unknown step `jump`"),
        ("\n# x\nfinish", "line 3: the task's name is missing"),
        ("get t1", "line 1: `timeout=` is missing"),
        ("get timeout=5", "line 1: the task's name is missing"),
        ("await timeout=soon", "line 1: `timeout=` cannot be `soon`"),
        ("await timeout=-1", "line 1: `timeout=` cannot be `-1`"),
        ("purge now", "line 1: unexpected `now`"),
        (
            "get t1 timeout=1 timeout=2",
            "line 1: unexpected `timeout=2`",
        ),
        ("set", "line 1: nothing that can be set is named"),
        ("set core=1 max=2", "line 1: unexpected `max=2`"),
        (
            "pool kind=odd core=1 policy=abort",
            "line 1: `kind=` cannot be `odd`",
        ),
        (
            "pool core=1 max=1 keep_alive=0 queue=array policy=abort",
            "line 1: `queue=` cannot be `array`",
        ),
        ("> ok", "line 1: a result line must follow its step"),
        (
            "purge\n= none",
            "line 2: a state line must follow its result line",
        ),
        (
            "purge\n> ok\npurge",
            "line 2: a result line must be followed by a state line",
        ),
        (
            "purge\n> ok",
            "line 2: a result line must be followed by a state line",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(parse(text).unwrap_err().to_string(), message, "{text}");
    }
}
