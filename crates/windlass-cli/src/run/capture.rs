//! The output of a job, in memory while it is small, else in a file that all jobs share.
//!
//! The memory of all captures together is bounded, so a slow first job with `--keep-order`, or a job
//! that prints gigabytes, costs disk space and not memory. The file has no name, so nothing is left of
//! it when the program ends, in whatever way.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What one capture keeps in memory at most.
const MEMORY_EACH: usize = 64 << 10;
/// What all captures keep in memory at most.
const MEMORY_TOTAL: usize = 32 << 20;

/// The storage that the captures of a run share.
#[derive(Debug, Default)]
pub(super) struct Storage {
    in_memory: AtomicUsize,
    spill: Mutex<Spill>,
}

#[derive(Debug, Default)]
struct Spill {
    file: Option<Arc<File>>,
    end: u64,
    /// How many captures have something in the file; without any it is emptied.
    users: usize,
}

impl Storage {
    fn reserve(&self, bytes: usize) -> bool {
        let before = self.in_memory.fetch_add(bytes, Ordering::Relaxed);
        if before + bytes <= MEMORY_TOTAL {
            return true;
        }
        self.in_memory.fetch_sub(bytes, Ordering::Relaxed);
        false
    }

    /// Appends to the file and returns it with the place of the bytes.
    fn spill(&self, bytes: &[u8], is_first: bool) -> io::Result<(Arc<File>, Extent)> {
        let (file, start) = {
            let mut spill = self.spill.lock().unwrap_or_else(PoisonError::into_inner);
            let file = match &spill.file {
                Some(file) => Arc::clone(file),
                None => Arc::clone(spill.file.insert(Arc::new(tempfile::tempfile()?))),
            };
            let start = spill.end;
            spill.end += bytes.len() as u64;
            spill.users += usize::from(is_first);
            (file, start)
        };
        file.write_all_at(bytes, start)?;
        Ok((
            file,
            Extent {
                start,
                end: start + bytes.len() as u64,
            },
        ))
    }

    fn release(&self, in_memory: usize, spilled: bool) {
        self.in_memory.fetch_sub(in_memory, Ordering::Relaxed);
        if spilled {
            let mut spill = self.spill.lock().unwrap_or_else(PoisonError::into_inner);
            spill.users -= 1;
            if spill.users == 0 {
                // The disk space comes back; if not now, then when the program ends.
                let emptied = spill.file.as_ref().map(|file| file.set_len(0));
                if matches!(emptied, Some(Ok(()))) {
                    spill.end = 0;
                }
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Extent {
    start: u64,
    end: u64,
}

/// What a job has written to one of its two outputs.
#[derive(Debug)]
pub(super) struct Capture {
    storage: Arc<Storage>,
    memory: Vec<u8>,
    file: Option<Arc<File>>,
    extents: Vec<Extent>,
    last: Option<u8>,
}

impl Capture {
    pub(super) fn new(storage: &Arc<Storage>) -> Self {
        Self {
            storage: Arc::clone(storage),
            memory: Vec::new(),
            file: None,
            extents: Vec::new(),
            last: None,
        }
    }

    /// Adds bytes at the end.
    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(last) = bytes.last() else {
            return Ok(());
        };
        self.last = Some(*last);
        let fits = self.file.is_none() && self.memory.len() + bytes.len() <= MEMORY_EACH;
        if fits && self.storage.reserve(bytes.len()) {
            self.memory.extend_from_slice(bytes);
            return Ok(());
        }
        let (file, extent) = self.storage.spill(bytes, self.file.is_none())?;
        self.file = Some(file);
        match self.extents.last_mut() {
            Some(before) if before.end == extent.start => before.end = extent.end,
            _ => self.extents.push(extent),
        }
        Ok(())
    }

    /// Returns the last byte, if there is one.
    pub(super) const fn last(&self) -> Option<u8> {
        self.last
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// Writes everything.
    pub(super) fn write_to(&self, to: &mut impl Write) -> io::Result<()> {
        to.write_all(&self.memory)?;
        let Some(file) = &self.file else {
            return Ok(());
        };
        let mut chunk = vec![0; MEMORY_EACH];
        for extent in &self.extents {
            let mut at = extent.start;
            while at < extent.end {
                let length = usize::try_from(extent.end - at).unwrap_or(MEMORY_EACH);
                let part = &mut chunk[..length.min(MEMORY_EACH)];
                file.read_exact_at(part, at)?;
                to.write_all(part)?;
                at += part.len() as u64;
            }
        }
        Ok(())
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.storage.release(self.memory.len(), self.file.is_some());
    }
}

#[cfg(test)]
mod tests {
    use super::{Arc, Capture, MEMORY_EACH, Ordering, Storage};

    #[test]
    fn what_does_not_fit_in_memory_comes_back_in_order() {
        let storage = Arc::new(Storage::default());
        let (mut one, mut two) = (Capture::new(&storage), Capture::new(&storage));
        let mut expected = (Vec::new(), Vec::new());
        for n in 0..100_u8 {
            let (a, b) = (vec![n; 3000], vec![255 - n; 1000]);
            one.push(&a).unwrap();
            two.push(&b).unwrap();
            expected.0.extend(a);
            expected.1.extend(b);
        }
        assert!(one.memory.len() <= MEMORY_EACH && one.file.is_some());
        let mut written = (Vec::new(), Vec::new());
        one.write_to(&mut written.0).unwrap();
        two.write_to(&mut written.1).unwrap();
        assert_eq!(written, expected);
    }

    #[test]
    fn nothing_is_left_when_the_captures_are_gone() {
        let storage = Arc::new(Storage::default());
        let mut capture = Capture::new(&storage);
        capture.push(&vec![1; MEMORY_EACH]).unwrap();
        capture.push(&[2]).unwrap();
        assert_eq!(storage.spill.lock().unwrap().end, 1);
        drop(capture);
        let spill = storage.spill.lock().unwrap();
        assert_eq!(
            (
                storage.in_memory.load(Ordering::Relaxed),
                spill.end,
                spill.users
            ),
            (0, 0, 0)
        );
    }
}
