//! Lines of bytes, as many at once as are there, and each of bounded length.

use std::io::{BufRead, BufReader, ErrorKind, Read};

/// So many bytes are read at once.
const AT_ONCE: usize = 64 * 1024;

/// Lines that came together.
#[derive(Default)]
pub struct Batch {
    bytes: Vec<u8>,
    /// Where each line ends, behind its line break.
    ends: Vec<usize>,
    too_long: usize,
}

impl Batch {
    /// All lines, each with its line break.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The lines, without their line breaks.
    pub fn lines(&self) -> impl Iterator<Item = &[u8]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).filter_map(|(begin, end)| self.bytes.get(begin..end - 1))
    }

    /// How many lines were left out because of their length.
    pub fn too_long(&self) -> usize {
        self.too_long
    }

    fn is_empty(&self) -> bool {
        self.ends.is_empty() && self.too_long == 0
    }

    fn clear(&mut self) {
        self.bytes.clear();
        // What one long message needed is not kept for all that follow.
        self.bytes.shrink_to(AT_ONCE);
        self.ends.clear();
        self.too_long = 0;
    }
}

/// Where lines come from.
pub struct Source<R> {
    read: BufReader<R>,
    line: Line,
}

/// A line that has no end yet.
struct Line {
    bytes: Vec<u8>,
    longest: usize,
    is_too_long: bool,
}

impl Line {
    fn push(&mut self, part: &[u8]) {
        self.is_too_long |= part.len() > self.longest.saturating_sub(self.bytes.len());
        if self.is_too_long {
            self.bytes = Vec::new();
        } else {
            self.bytes.extend_from_slice(part);
        }
    }

    /// Its last part has come. Empty lines are no messages.
    fn end(&mut self, part: &[u8], batch: &mut Batch) {
        if !self.bytes.is_empty() || part.len() > self.longest {
            self.push(part);
        }
        if std::mem::take(&mut self.is_too_long) {
            batch.too_long += 1;
            return;
        }
        let whole = if self.bytes.is_empty() { part } else { &self.bytes };
        if !whole.trim_ascii().is_empty() {
            batch.bytes.extend_from_slice(whole);
            batch.bytes.push(b'\n');
            batch.ends.push(batch.bytes.len());
        }
        self.bytes.clear();
        self.bytes.shrink_to(AT_ONCE);
    }
}

impl<R: Read> Source<R> {
    /// The lines that `read` gives, of at most `longest` bytes each.
    pub fn new(read: R, longest: usize) -> Source<R> {
        Source { read: BufReader::with_capacity(AT_ONCE, read), line: Line { bytes: Vec::new(), longest, is_too_long: false } }
    }

    /// Waits for lines, and gives all that are there; false when no more come. A pipe that breaks is at its end.
    pub fn next(&mut self, batch: &mut Batch) -> bool {
        batch.clear();
        while batch.is_empty() {
            let available = match self.read.fill_buf() {
                Ok(available) => available,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => &[],
            };
            let length = available.len();
            if length == 0 {
                self.line.end(&[], batch);
                return !batch.is_empty();
            }
            let mut rest = available;
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                self.line.end(&rest[..end], batch);
                rest = &rest[end + 1..];
            }
            self.line.push(rest);
            self.read.consume(length);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Gives a few bytes at a time.
    struct Slowly<'b>(&'b [u8], usize);

    impl Read for Slowly<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let count = self.1.min(into.len()).min(self.0.len());
            let (now, later) = self.0.split_at(count);
            into[..count].copy_from_slice(now);
            self.0 = later;
            Ok(count)
        }
    }

    fn read(bytes: &[u8], at_once: usize, longest: usize) -> (Vec<Vec<u8>>, usize) {
        let mut source = Source::new(Slowly(bytes, at_once), longest);
        let (mut batch, mut lines, mut too_long) = (Batch::default(), Vec::new(), 0);
        while source.next(&mut batch) {
            assert_eq!(batch.bytes(), batch.lines().flat_map(|line| [line, b"\n"].concat()).collect::<Vec<u8>>());
            lines.extend(batch.lines().map(<[u8]>::to_vec));
            too_long += batch.too_long();
        }
        (lines, too_long)
    }

    #[test]
    fn lines_are_bounded_and_the_next_one_is_whole() {
        for at_once in 1..30 {
            let (lines, too_long) = read(b"abc\n\n  \nabcdef\nxy\r\nz", at_once, 3);
            assert_eq!((lines, too_long), (vec![b"abc".to_vec(), b"xy\r".to_vec(), b"z".to_vec()], 1), "{at_once}");
        }
        assert_eq!(read(b"abcdef", 1, 3), (Vec::new(), 1));
    }

    proptest! {
        #[test]
        fn lines_are_the_same_however_they_come(text in "[ab\n ]{0,60}", at_once in 1_usize..20, longest in 1_usize..9) {
            let (mut lines, mut too_long) = (Vec::new(), 0);
            for line in text.split('\n') {
                match line.len() {
                    length if length > longest => too_long += 1,
                    _ if line.trim().is_empty() => {}
                    _ => lines.push(line.as_bytes().to_vec()),
                }
            }
            prop_assert_eq!(read(text.as_bytes(), at_once, longest), (lines, too_long));
        }
    }
}
