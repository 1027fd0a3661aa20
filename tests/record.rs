//! `ltc record`, as a client sees it and as the recording tells it: through real processes.

mod support;

#[path = "record/conversation.rs"]
mod conversation;
#[path = "record/delay.rs"]
mod delay;
#[path = "record/door.rs"]
mod door;
#[path = "record/hostile.rs"]
mod hostile;
#[path = "record/http.rs"]
mod http;
#[path = "record/listening.rs"]
mod listening;
#[path = "record/many.rs"]
mod many;
#[path = "record/one.rs"]
mod one;
#[path = "record/recording.rs"]
mod recording;
#[path = "record/timing.rs"]
mod timing;
#[path = "record/typed.rs"]
mod typed;
