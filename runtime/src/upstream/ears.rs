//! What a server says beside its answers: how far a call has come, and that its tools have changed.
//!
//! It is heard where messages arrive, in the order in which they do, and before the answer behind them. A server is asked for progress only where somebody wants
//! to hear of it; the token is ours, and means nothing on another connection.

use super::shelf::Shelf;
use rmcp::model::{JsonRpcMessage, NumberOrString, ServerJsonRpcMessage, ServerNotification};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How far a call has come, as its server says.
#[derive(Clone, Debug, PartialEq)]
pub struct Progress {
    /// It grows.
    pub progress: f64,
    /// What it grows to, if that is known.
    pub total: Option<f64>,
    /// For people: text of the server.
    pub message: Option<String>,
}

/// Hears how far a call has come.
#[derive(Clone)]
pub struct Hearing(Arc<dyn Fn(Progress) + Send + Sync>);

impl Hearing {
    /// `hear` is called where messages of the server are read: it is not to wait for anything.
    pub fn new(hear: impl Fn(Progress) + Send + Sync + 'static) -> Hearing {
        Hearing(Arc::new(hear))
    }
}

impl std::fmt::Debug for Hearing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Hearing")
    }
}

impl PartialEq for Hearing {
    fn eq(&self, other: &Hearing) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Hearing {}

/// Those who hear what one server says.
pub struct Ears {
    calls: Mutex<BTreeMap<i64, Hearing>>,
    next: AtomicI64,
    tools_changed: Box<dyn Fn() + Send + Sync>,
    /// Results while the library has their messages.
    pub shelf: Shelf,
}

/// A call that is listened to, for as long as this lives.
pub struct Listening {
    ears: Arc<Ears>,
    /// What the server is given as `progressToken`.
    pub token: i64,
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.ears.calls().remove(&self.token);
    }
}

impl Ears {
    /// `tools_changed` is called whenever the server says that its tools have changed; it is not to wait for anything.
    pub fn new(tools_changed: impl Fn() + Send + Sync + 'static) -> Arc<Ears> {
        Arc::new(Ears { calls: Mutex::default(), next: AtomicI64::new(1), tools_changed: Box::new(tools_changed), shelf: Shelf::default() })
    }

    /// For whom the tools may change unheard.
    pub fn deaf() -> Arc<Ears> {
        Ears::new(|| {})
    }

    /// Listens to a call that is to be made.
    pub fn listen(self: &Arc<Self>, hearing: &Hearing) -> Listening {
        let token = self.next.fetch_add(1, Ordering::Relaxed);
        self.calls().insert(token, hearing.clone());
        Listening { ears: self.clone(), token }
    }

    /// A message of the server, before anybody acts on it; whether nobody else has to.
    pub fn hear(&self, message: &ServerJsonRpcMessage) -> bool {
        let JsonRpcMessage::Notification(message) = message else { return false };
        match &message.notification {
            ServerNotification::ProgressNotification(told) => {
                let NumberOrString::Number(token) = &told.params.progress_token.0 else { return true };
                let hearing = self.calls().get(token).cloned();
                if let Some(Hearing(hear)) = hearing {
                    let (progress, total) = (told.params.progress, told.params.total);
                    hear(Progress { progress, total, message: told.params.message.clone() });
                }
                true
            }
            ServerNotification::ToolListChangedNotification(_) => {
                (self.tools_changed)();
                false
            }
            // Of the rest nothing is for whoever calls tools; the library may know more kinds than we do.
            _ => false,
        }
    }

    fn calls(&self) -> MutexGuard<'_, BTreeMap<i64, Hearing>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(token: &str, progress: u32) -> ServerJsonRpcMessage {
        let text = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{progress},"total":9,"message":"m"}}}}"#
        );
        serde_json::from_str(&text).expect("a message in a test")
    }

    #[test]
    fn only_who_listens_hears_and_only_of_its_own_call() {
        let ears = Ears::deaf();
        let heard: Arc<Mutex<Vec<f64>>> = Arc::default();
        let (first, into) = (Hearing::new(|_| panic!("not the call that was told of")), heard.clone());
        let second = Hearing::new(move |told| into.lock().expect("a lock").push(told.progress));
        let _quiet = ears.listen(&first);
        let listening = ears.listen(&second);
        for token in [listening.token.to_string(), "77".into(), format!("\"{}\"", listening.token), "-1".into()] {
            ears.hear(&told(&token, 1));
        }
        ears.hear(&told(&listening.token.to_string(), 2));
        let token = listening.token;
        drop(listening);
        ears.hear(&told(&token.to_string(), 3));
        assert_eq!(*heard.lock().expect("a lock"), [1.0, 2.0]);
    }
}
