//! Arbitrary bytes from the wire: nothing panics, and what was sealed is opened.

use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};
use windlass_remote::envelope::{EnvelopeError, Subject, open, seal};
use windlass_remote::{Codec, Failure, QueueName, SigningKey, TaskId, TaskOptions};

proptest! {
    #[test]
    fn arbitrary_bytes_are_opened_or_refused(bytes: Vec<u8>, id: String, name: String, version: u16) {
        let subject = Subject { role: "task", id: &id, name: &name, version };
        let key = SigningKey::new(b"key");
        prop_assert!(open(&bytes, subject, Some(&key)).is_err(), "nobody signs by chance");
        if let Ok((codec, body)) = open(&bytes, subject, None) {
            prop_assert!(body.len() < bytes.len());
            // Arbitrary bodies are values or errors.
            let _ = codec.decode::<Vec<(String, Option<u64>)>>(body);
            let _ = codec.decode::<serde_json::Value>(body);
        }
    }

    #[test]
    fn what_was_sealed_is_opened(body: Vec<u8>, id: String, name: String, version: u16, signed: bool) {
        let subject = Subject { role: "task", id: &id, name: &name, version };
        let key = signed.then(|| SigningKey::new(b"key"));
        let sealed = seal(Codec::Json, &body, subject, key.as_ref());
        prop_assert_eq!(open(&sealed, subject, key.as_ref()), Ok((Codec::Json, body.as_slice())));
    }

    #[test]
    fn a_flipped_bit_breaks_the_signature(body: Vec<u8>, at: usize, bit in 0..8u32) {
        let subject = Subject { role: "task", id: "1", name: "n", version: 1 };
        let key = SigningKey::new(b"key");
        let mut sealed = seal(Codec::Json, &body, subject, Some(&key));
        let at = at % sealed.len();
        sealed[at] ^= 1 << bit;
        let refused = open(&sealed, subject, Some(&key)).unwrap_err();
        if at >= 3 {
            prop_assert_eq!(refused, EnvelopeError::BadSignature);
        }
    }

    #[test]
    fn parts_of_a_signature_cannot_be_shifted(id in "[a-z]{1,8}", name in "[a-z]{1,8}", cut in 1usize..8) {
        let key = SigningKey::new(b"key");
        let subject = Subject { role: "task", id: &id, name: &name, version: 1 };
        let sealed = seal(Codec::Json, b"x", subject, Some(&key));
        let joined = format!("{id}{name}");
        let (left, right) = joined.split_at(cut.min(joined.len() - 1));
        let shifted = Subject { role: "task", id: left, name: right, version: 1 };
        prop_assert_eq!(open(&sealed, shifted, Some(&key)).is_ok(), left == id);
    }

    #[test]
    fn texts_of_other_releases_are_read_without_panic(text: String, bytes: Vec<u8>) {
        let _ = TaskOptions::from_wire(&text);
        let _ = Failure::from_wire(&text);
        let _ = text.parse::<TaskId>();
        let _ = text.parse::<QueueName>();
        for number in any_codec() {
            let _ = number.decode::<Vec<u64>>(&bytes);
        }
    }

    #[test]
    fn options_survive_any_numbers(numbers in proptest::collection::vec(any::<u64>(), 0..12)) {
        let text: Vec<String> = numbers.iter().map(ToString::to_string).collect();
        let options = TaskOptions::from_wire(&text.join(","));
        prop_assert!(options.attempts() >= 1 && options.worker_deaths() >= 1);
        let _ = options.to_wire();
    }
}

fn any_codec() -> impl Iterator<Item = Codec> {
    (0..=u8::MAX).filter_map(Codec::from_number)
}
