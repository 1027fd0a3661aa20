//! What a server over stdin and stdout consists of, whatever it serves, and one whose tools are the workflows of this program.
//!
//! | file | what it is |
//! |---|---|
//! | `transport` | one message a line on stdin and stdout |
//! | `wire` | numbers keep their digits on the way |
//! | `shown` | workflows as tools, outputs as results of tools |
//! | `progress` | the steps of a run, and what servers say of those under way, told to the client that waits for it |
//! | `workflows` | the server whose tools are the workflows of this program |

pub mod progress;
pub mod shown;
pub mod transport;
pub mod wire;
pub mod workflows;
