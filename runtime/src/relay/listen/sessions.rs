//! All sessions: begun, found, forgotten, ended. Each has a relay of its own, and so servers and a recording of its own.

use super::super::{Client, Ended, Relay, Side};
use super::session::Session;
use crate::text;
use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};

/// So many sessions are there at once; each may be a few processes.
const MOST_SESSIONS: u32 = 100;
/// So many messages wait on their way to and from a relay.
const WAITING: usize = 64;
/// A session of which nobody has heard for so long is at its end.
const LONGEST_SILENCE: Duration = Duration::from_secs(3600);
/// How often it is looked for those.
const ROUND: Duration = Duration::from_secs(30);
/// How long servers may take to end when everything does.
const LAST_SERVERS: Duration = Duration::from_secs(15);

/// Told how a relay came to its end.
pub type Farewell = Box<dyn FnOnce(&std::io::Result<Ended>) + Send>;

/// A relay for one more client.
pub struct Begun {
    /// The relay.
    pub relay: Relay,
    /// Told when it came to its end.
    pub ended: Farewell,
}

/// Makes a relay for each client that comes.
pub type Begin = Arc<dyn Fn() -> std::io::Result<Begun> + Send + Sync>;

/// What a session is known by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A name that was handed out.
    Given(String),
    /// The newer protocol has no sessions: the place that clients come to, and what they call themselves.
    Same { place: String, client: String },
}

/// Why there is no session.
#[derive(Debug)]
pub enum NoSession {
    /// There are too many.
    Full,
    /// All come to their end.
    Ending,
    /// It cannot begin.
    Failed(std::io::Error),
}

/// All of them.
pub struct Sessions {
    begin: Begin,
    places: Arc<Semaphore>,
    table: Mutex<Table>,
}

struct Table {
    open: BTreeMap<Key, Arc<Session>>,
    is_ending: bool,
}

impl Sessions {
    /// None yet.
    pub fn new(begin: Begin) -> Arc<Sessions> {
        let table = Mutex::new(Table { open: BTreeMap::new(), is_ending: false });
        Arc::new(Sessions { begin, places: Arc::new(Semaphore::new(MOST_SESSIONS as usize)), table })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The session of this name.
    pub fn given(&self, name: &str) -> Option<Arc<Session>> {
        self.table().open.get(&Key::Given(name.to_owned())).cloned()
    }

    /// A new session, and its name.
    pub fn begin(self: &Arc<Self>) -> Result<(String, Arc<Session>), NoSession> {
        // Nobody guesses it: each half is made with a key of its own that nobody knows.
        let half = || RandomState::new().build_hasher().finish();
        let name = format!("{:016x}{:016x}", half(), half());
        let session = self.open(&mut self.table(), Key::Given(name.clone()))?;
        Ok((name, session))
    }

    /// The session of all that come to this place under this name. One that looks around (`is_new`) begins, where the one before has done its work.
    pub fn same(self: &Arc<Self>, place: &str, client: &str, is_new: bool) -> Result<Arc<Session>, NoSession> {
        let key = Key::Same { place: place.to_owned(), client: client.to_owned() };
        let mut table = self.table();
        match table.open.get(&key) {
            Some(session) if is_new && session.has_done_its_work() => session.stop(),
            Some(session) => return Ok(session.clone()),
            None => {}
        }
        self.open(&mut table, key)
    }

    fn open(self: &Arc<Self>, table: &mut Table, key: Key) -> Result<Arc<Session>, NoSession> {
        if table.is_ending {
            return Err(NoSession::Ending);
        }
        let place = self.places.clone().try_acquire_owned().map_err(|_| NoSession::Full)?;
        let Begun { relay, ended } = (self.begin)().map_err(NoSession::Failed)?;
        let (lines, received) = mpsc::channel(WAITING);
        let (out, mut said) = mpsc::channel::<crate::pipes::Written>(WAITING);
        let session = Arc::new(Session::new(lines, matches!(key, Key::Same { .. })));
        table.open.insert(key.clone(), session.clone());
        let hearing = session.clone();
        tokio::spawn(async move {
            while let Some((bytes, done)) = said.recv().await {
                if !bytes.is_empty() {
                    hearing.hear(bytes).await;
                }
                if let Some(done) = done {
                    // Whoever wanted to know may be gone.
                    let _ = done.send(Ok(()));
                }
            }
        });
        let (sessions, running) = (self.clone(), session.clone());
        tokio::spawn(async move {
            let stopped = running.stopped();
            let result = relay.run(Client(Side::Lines((received, out))), stopped).await;
            sessions.forget(&key, &running);
            running.over(&words(&result));
            ended(&result);
            drop(place);
        });
        Ok(session)
    }

    /// It is found no longer.
    pub fn forget(&self, key: &Key, session: &Arc<Session>) {
        let mut table = self.table();
        if table.open.get(key).is_some_and(|open| Arc::ptr_eq(open, session)) {
            table.open.remove(key);
        }
    }

    /// Ends sessions of which nobody has heard for long, for as long as this is awaited.
    pub async fn forget_silent(&self) -> std::convert::Infallible {
        loop {
            tokio::time::sleep(ROUND).await;
            let silent: Vec<Arc<Session>> =
                self.table().open.values().filter(|session| session.is_silent(LONGEST_SILENCE)).cloned().collect();
            silent.iter().for_each(|session| session.stop());
        }
    }

    /// Ends all of them, and waits until their servers have ended.
    pub async fn end(&self) {
        let open: Vec<Arc<Session>> = {
            let mut table = self.table();
            table.is_ending = true;
            table.open.values().cloned().collect()
        };
        open.iter().for_each(|session| session.stop());
        // Each session holds a place until its servers have ended.
        let _ = tokio::time::timeout(LAST_SERVERS, self.places.acquire_many(MOST_SESSIONS)).await;
    }
}

/// What whoever still waits is told.
fn words(result: &std::io::Result<Ended>) -> String {
    match result {
        Ok(Ended::Left) => "the session has ended".to_owned(),
        Ok(Ended::ServerGone(words)) => text::one_line(words),
        Err(error) => text::one_line(&format!("the server cannot be started: {error}")),
    }
}
