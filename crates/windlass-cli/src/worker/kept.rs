//! The first bytes of what a command writes; the rest is counted and dropped.

use std::io;

use crate::run::process::{Collect, Stream};

/// What is kept of the two outputs of a command.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) out: Vec<u8>,
    pub(super) err: Vec<u8>,
    pub(super) dropped: u64,
    room: usize,
}

impl Kept {
    /// Creates room for so many bytes of both outputs together.
    pub(super) const fn new(room: usize) -> Self {
        Self {
            out: Vec::new(),
            err: Vec::new(),
            dropped: 0,
            room,
        }
    }
}

impl Collect for Kept {
    fn is_inherited(&self) -> bool {
        false
    }

    /// Takes everything: a command whose output nobody reads would wait forever.
    fn collect(&mut self, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let (kept, dropped) = bytes.split_at(bytes.len().min(self.room));
        match stream {
            Stream::Out => self.out.extend_from_slice(kept),
            Stream::Err => self.err.extend_from_slice(kept),
        }
        self.room -= kept.len();
        self.dropped += dropped.len() as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Collect as _, Kept, Stream};

    #[test]
    fn what_has_no_room_is_counted() {
        let mut kept = Kept::new(5);
        kept.collect(Stream::Out, b"abc").unwrap();
        kept.collect(Stream::Err, b"defg").unwrap();
        kept.collect(Stream::Out, b"h").unwrap();
        assert_eq!(
            (&kept.out[..], &kept.err[..], kept.dropped),
            (&b"abc"[..], &b"de"[..], 3)
        );
    }
}
