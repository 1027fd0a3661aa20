//! Who hears that the tools, or a task, have changed, also where another process changed them.

use super::tasks;
use super::{Place, wire};
use crate::service::Service;
use crate::store::RunId;
use crate::upstream::wire::carried;
use ltc_workflow::Value;
use rmcp::RoleServer;
use rmcp::model::{NotificationMetaObject, ServerNotification, TaskStatusNotification, TaskStatusNotificationParams};
use rmcp::service::{Peer, SubscriptionContext};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How often the store is asked whether a workflow came or went, while a client is there.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often a task that somebody subscribed to is looked at, where nothing in this process says so earlier.
const TASK_LOOK_EVERY: Duration = Duration::from_millis(500);

/// The number that grows with every change of a workflow or of a registered server, as it was last seen.
#[derive(Clone, Default)]
pub struct Registry(Arc<watch::Sender<Option<u64>>>);

impl Registry {
    /// Looks at the store for as long as it is polled.
    pub async fn watch(&self, service: Arc<Service>) -> Infallible {
        loop {
            // A store that is away is asked again at the next look.
            if (self.0.receiver_count() > 0 || self.0.borrow().is_none())
                && let Ok(workflows) = service.driver().store().registry_changes().await
                && let Ok(servers) = service.driver().store().server_changes().await
            {
                let count = workflows.wrapping_add(servers);
                self.0.send_if_modified(|known| {
                    let is_new = *known != Some(count);
                    *known = Some(count);
                    is_new
                });
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Resolves at each change after this call; the first number that is seen is none.
    fn changes(&self) -> Changes {
        let mut seen = self.0.subscribe();
        let first = *seen.borrow_and_update();
        Changes { seen, last: first }
    }
}

/// The changes that one listener has not heard of yet.
struct Changes {
    seen: watch::Receiver<Option<u64>>,
    last: Option<u64>,
}

impl Changes {
    async fn next(&mut self) {
        loop {
            if self.seen.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            let now = *self.seen.borrow_and_update();
            let before = std::mem::replace(&mut self.last, now);
            if before.is_some() && before != now {
                return;
            }
        }
    }
}

/// Resolves when the server ends.
pub async fn ended(ending: &watch::Receiver<bool>) {
    let mut ending = ending.clone();
    if ending.wait_for(|is_ending| *is_ending).await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Tells a client of the older era of every change of the tools, until it is gone.
pub async fn tell_older(place: Arc<Place>, peer: Peer<RoleServer>) {
    let mut changes = place.registry.changes();
    loop {
        tokio::select! {
            () = changes.next() => {
                if peer.notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
            () = ended(&place.ending) => return,
            () = tokio::time::sleep(LOOK_EVERY), if peer.is_transport_closed() => return,
            () = tokio::time::sleep(10 * LOOK_EVERY) => {}
        }
    }
}

/// Tells a client that listens what it asked for, until it stops to listen or the server ends.
pub async fn tell(place: &Place, context: SubscriptionContext) {
    let mut changes = place.registry.changes();
    let mut service = place.service.changes();
    let mut tasks = followed(&context);
    loop {
        for (run, last) in &mut tasks {
            let Ok(task) = tasks::detailed(place, run, context.request_context()).await else { continue };
            if last.as_ref() == Some(&task) {
                continue;
            }
            let mut params = TaskStatusNotificationParams::new(task.clone());
            let mut meta = NotificationMetaObject::new();
            meta.set_subscription_id(context.request_context().id.clone());
            params.meta = Some(meta);
            let notification = ServerNotification::TaskStatusNotification(TaskStatusNotification::new(params));
            if context.request_context().peer.send_notification(notification).await.is_err() {
                return;
            }
            *last = Some(task);
        }
        let is_following = tasks.iter().any(|(_, last)| last.as_ref().is_none_or(|task| !task.status().is_terminal()));
        let look = async {
            let _ = tokio::time::timeout(TASK_LOOK_EVERY, service.changed()).await;
        };
        tokio::select! {
            () = changes.next() => {
                if context.accepted().tools_list_changed == Some(true) && context.sink().notify_tool_list_changed().await.is_err() {
                    return;
                }
            }
            () = look, if is_following => {}
            () = context.cancelled() => return,
            () = ended(&place.ending) => return,
        }
    }
}

/// How many tasks one subscription may follow.
const MOST_TASKS: usize = 64;

fn followed(context: &SubscriptionContext) -> Vec<(RunId, Option<rmcp::model::DetailedTask>)> {
    let asked = carried(Some(&context.request_context().meta.0), wire::TASKS);
    let ids = asked.as_ref().and_then(Value::as_array).unwrap_or_default().iter().filter_map(Value::as_str);
    ids.take(MOST_TASKS).map(|id| (RunId(id.into()), None)).collect()
}
