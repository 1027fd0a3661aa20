//! Servers whose tools change while they are connected: asked for them anew, and what they say is kept, so that everybody hears of it.

use super::Service;
use super::servers::Reached;
use crate::adapter::Client;
use crate::clock::Moment;
use crate::pool;
use crate::store::Found;
use ltc_workflow::Value;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;

/// What a server says in this time is heard once.
const AT_ONCE: Duration = Duration::from_millis(200);

impl Service {
    /// Looks at servers that say that their tools have changed, for as long as it is polled. One that does not answer holds no other up.
    pub async fn follow_servers(self: &Arc<Self>) -> Infallible {
        let mut looking = JoinSet::new();
        let (mut at, mut again) = (BTreeSet::new(), BTreeSet::new());
        loop {
            let told = tokio::select! {
                clients = self.driver.adapter().changed() => clients,
                Some(seen) = looking.join_next(), if !looking.is_empty() => {
                    let seen: Vec<Client> = seen.into_iter().collect();
                    at.retain(|client| !seen.contains(client));
                    seen.into_iter().filter(|client| again.remove(client)).collect()
                }
            };
            for client in told {
                if at.insert(client.clone()) {
                    let service = self.clone();
                    looking.spawn(async move {
                        service.look_at_tools(&client).await;
                        client
                    });
                } else {
                    // It may have changed behind the look that is under way.
                    again.insert(client);
                }
            }
            tokio::time::sleep(AT_ONCE).await;
        }
    }

    /// Keeps the tools that a server has now, where it is a registered one and has others than before. One that does not say them keeps those that it had.
    async fn look_at_tools(&self, client: &Client) {
        let Ok(known) = self.known_server(&client.name).await else { return };
        let Ok(Reached { client: registered, redactor }) = known.reached(self) else { return };
        if registered != *client {
            return;
        }
        let Ok(tools) = pool::tools(self.driver.adapter().as_ref(), client).await else { return };
        let tools = redactor.value(&Value::array(tools.iter().map(|tool| tool.entry.clone()).collect()));
        if known.record.tools.as_ref() == Some(&tools) {
            return;
        }
        let (name, found) = (&known.record.entry.name, Found::Connected { tools });
        // Where the store is away, the server is as it was known; it is looked at again when it says something next.
        let noted = self.driver.store().note_server(name, known.record.revision, found, Moment::now()).await;
        if let Ok(Some(_)) = noted {
            self.has_changed();
        }
    }
}
