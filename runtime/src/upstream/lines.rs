//! Lines of bytes from a pipe, of bounded length.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// A line of bytes, without its end.
pub enum Line {
    /// All of it.
    Whole(Vec<u8>),
    /// The beginning of a line that is longer than allowed.
    TooLong(Vec<u8>),
}

impl Line {
    /// What there is of it.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Line::Whole(bytes) | Line::TooLong(bytes) => bytes,
        }
    }
}

/// Lines of bounded length. `next` may be dropped at any time without losing a byte.
pub struct Lines<R> {
    read: BufReader<R>,
    line: Vec<u8>,
    longest: usize,
    is_too_long: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// The lines that `read` gives, of at most `longest` bytes each.
    pub fn new(read: R, longest: usize) -> Lines<R> {
        Lines { read: BufReader::with_capacity(64 * 1024, read), line: Vec::new(), longest, is_too_long: false }
    }

    /// The next line; nothing at the end.
    pub async fn next(&mut self) -> Option<Line> {
        loop {
            let available = self.read.fill_buf().await.ok()?;
            if available.is_empty() {
                return if self.line.is_empty() { None } else { Some(self.take()) };
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            let text = &available[..end.unwrap_or(available.len())];
            let room = self.longest.saturating_sub(self.line.len());
            self.is_too_long |= text.len() > room;
            self.line.extend_from_slice(&text[..text.len().min(room)]);
            self.read.consume(taken);
            if end.is_some() {
                return Some(self.take());
            }
        }
    }

    fn take(&mut self) -> Line {
        let bytes = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_too_long) { Line::TooLong(bytes) } else { Line::Whole(bytes) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn lines_are_bounded_and_the_next_one_is_whole() {
        let mut lines = Lines::new(&b"abc\n\nabcdef\nxy"[..], 3);
        let mut seen = Vec::new();
        while let Some(line) = lines.next().await {
            let is_whole = matches!(line, Line::Whole(_));
            seen.push((String::from_utf8_lossy(line.bytes()).into_owned(), is_whole));
        }
        let expected = [("abc", true), ("", true), ("abc", false), ("xy", true)].map(|(text, is_whole)| (text.to_owned(), is_whole));
        assert_eq!(seen, expected);
    }
}
