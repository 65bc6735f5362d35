//! Any bytes as a sealed payload: they are opened or refused without a panic, what was sealed is opened, and nothing that was changed
//! passes a signature.

#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_remote::envelope::{Subject, open, seal};
use windlass_remote::{Codec, Failure, QueueName, SigningKey, TaskId, TaskOptions};

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let _ = (text.parse::<TaskId>(), text.parse::<QueueName>());
    let _ = (
        TaskOptions::from_wire(&text).to_wire(),
        Failure::from_wire(&text),
    );
    let key = SigningKey::new(b"a key of the fuzzer");
    let subject = |id| Subject {
        role: "task",
        id,
        name: "fuzz.task",
        version: 1,
    };
    assert!(
        open(bytes, subject("a"), Some(&key)).is_err(),
        "bytes of a stranger pass as signed"
    );
    if let Ok((codec, body)) = open(bytes, subject("a"), None) {
        let _ = codec.decode::<Vec<(u64, String)>>(body);
    }
    for key in [None, Some(&key)] {
        let mut sealed = seal(Codec::Json, bytes, subject("a"), key);
        let (codec, body) = open(&sealed, subject("a"), key).expect("what was sealed is opened");
        assert!(codec == Codec::Json && body == bytes);
        if key.is_some() {
            assert!(
                open(&sealed, subject("b"), key).is_err(),
                "it is of another task"
            );
            let at = bytes.first().map_or(0, |byte| usize::from(*byte)) % sealed.len();
            sealed[at] ^= 1;
            assert!(open(&sealed, subject("a"), key).is_err(), "it was changed");
        }
    }
});
