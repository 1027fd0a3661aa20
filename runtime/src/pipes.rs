//! The client that started us: one message a line on stdin and stdout.
//!
//! Both are read and written by threads of their own: a read of stdin cannot be called off, and would keep the process from ending.

use std::io::{BufRead, Write};
use tokio::sync::{mpsc, oneshot};

/// The longest message that is read.
pub(crate) const LONGEST_MESSAGE: usize = 64 * 1024 * 1024;

/// How many messages may wait on their way in or out.
const WAITING: usize = 64;

/// A line of stdin; nothing where it was longer than it may be.
pub(crate) type Line = Option<Vec<u8>>;

/// A line for stdout, and who wants to know that it is written.
pub(crate) type Written = (Vec<u8>, Option<oneshot::Sender<std::io::Result<()>>>);

/// Stdin and stdout of this process.
///
/// # Errors
/// Where there are no threads.
pub(crate) fn of_this_process() -> std::io::Result<(mpsc::Receiver<Line>, mpsc::Sender<Written>)> {
    let (read, lines) = mpsc::channel(WAITING);
    let (out, written) = mpsc::channel(WAITING);
    std::thread::Builder::new().name("stdin".to_owned()).spawn(move || read_lines(&mut std::io::stdin().lock(), LONGEST_MESSAGE, &read))?;
    std::thread::Builder::new().name("stdout".to_owned()).spawn(move || write_lines(written))?;
    Ok((lines, out))
}

fn read_lines(input: &mut impl BufRead, longest: usize, lines: &mpsc::Sender<Line>) {
    let mut line = Vec::new();
    let mut is_too_long = false;
    loop {
        let Ok(available) = input.fill_buf() else { return };
        let end = available.iter().position(|byte| *byte == b'\n');
        let text = &available[..end.unwrap_or(available.len())];
        is_too_long |= text.len() > longest.saturating_sub(line.len());
        if !is_too_long {
            line.extend_from_slice(text);
        }
        let is_last = available.is_empty();
        let taken = end.map_or(available.len(), |end| end + 1);
        input.consume(taken);
        if end.is_some() || is_last {
            let whole = std::mem::take(&mut line);
            let given = if std::mem::take(&mut is_too_long) { None } else { Some(whole) };
            let is_empty = given.as_ref().is_some_and(|line| line.trim_ascii().is_empty());
            if !is_empty && lines.blocking_send(given).is_err() || is_last {
                return;
            }
        }
    }
}

/// So many bytes are written at once where many lines wait.
const AT_ONCE: usize = 64 * 1024;

fn write_lines(mut written: mpsc::Receiver<Written>) {
    let mut out = std::io::stdout().lock();
    let mut bytes = Vec::new();
    let mut waiting = Vec::new();
    while let Some((line, done)) = written.blocking_recv() {
        let mut next = Some((line, done));
        while let Some((line, done)) = next {
            // An empty line is no message: whoever sent it only wants to know that all before it is written.
            if !line.is_empty() {
                bytes.extend_from_slice(&line);
                bytes.push(b'\n');
            }
            waiting.extend(done);
            next = if bytes.len() < AT_ONCE { written.try_recv().ok() } else { None };
        }
        let result = out.write_all(&bytes).and_then(|()| out.flush());
        bytes.clear();
        for done in waiting.drain(..) {
            let told = match &result {
                Ok(()) => Ok(()),
                Err(error) => Err(std::io::Error::from(error.kind())),
            };
            // Whoever sent it may be gone.
            let _ = done.send(told);
        }
    }
}

/// Writes a line, and waits until it is written.
///
/// # Errors
/// Where stdout is closed.
#[cfg_attr(not(feature = "serve"), allow(dead_code, reason = "the servers answer with it"))]
pub(crate) async fn write(out: &mpsc::Sender<Written>, line: Vec<u8>) -> std::io::Result<()> {
    let closed = || std::io::Error::new(std::io::ErrorKind::BrokenPipe, "stdout is closed");
    let (done, is_done) = oneshot::channel();
    out.send((line, Some(done))).await.map_err(|_| closed())?;
    is_done.await.map_err(|_| closed())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded_and_the_next_one_is_whole() {
        let (read, mut lines) = mpsc::channel(16);
        read_lines(&mut &b"abc\n\n  \nabcdef\nxy\r\nz"[..], 3, &read);
        drop(read);
        let mut seen = Vec::new();
        while let Some(line) = lines.blocking_recv() {
            seen.push(line.map(|line| String::from_utf8_lossy(&line).into_owned()));
        }
        assert_eq!(seen, [Some("abc".to_owned()), None, Some("xy\r".to_owned()), Some("z".to_owned())]);
    }
}
