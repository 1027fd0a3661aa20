//! Ctrl-C, and a polite request to end.

/// Interrupts, from the moment on at which this was made: none is lost between two questions.
pub struct Interrupts {
    #[cfg(unix)]
    signals: Vec<tokio::signal::unix::Signal>,
}

impl Interrupts {
    /// Listens. Where signals cannot be listened to, they do what they do to any program.
    #[cfg(unix)]
    pub fn new() -> Interrupts {
        use tokio::signal::unix::{SignalKind, signal};
        let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
        Interrupts { signals: kinds.into_iter().filter_map(|kind| signal(kind).ok()).collect() }
    }

    /// Listens.
    #[cfg(not(unix))]
    pub fn new() -> Interrupts {
        Interrupts {}
    }

    /// Waits for the next one.
    #[cfg(unix)]
    pub async fn next(&mut self) {
        std::future::poll_fn(|context| {
            let is_there = self.signals.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
            if is_there { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
    }

    /// Waits for the next one.
    #[cfg(not(unix))]
    pub async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
