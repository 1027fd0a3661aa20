//! The documents, as resources of the server `docs` and of no other.

use crate::client::at;
use crate::world::{WAYS, World, value};
use ltc_workflow::{Value, json};

pub async fn documents_are_resources_of_one_server() {
    let world = World::new().await;
    for (over, era) in WAYS {
        let mut client = world.client_of(over, era, "docs").await;
        let list = client.ask("resources/list", "{}").await;
        let resources = at(&list, "/result/resources");
        let addresses: Vec<String> = resources
            .as_array()
            .expect("a list")
            .iter()
            .map(|resource| at(resource, "/uri").as_str().unwrap_or_default().to_owned())
            .collect();
        assert_eq!(addresses, ["ltc://docs/language", "ltc://docs/runtime"], "{}", json::to_string(&list));
        let read = client.ask("resources/read", r#"{"uri":"ltc://docs/language"}"#).await;
        assert_eq!(at(&read, "/result/contents/0/text"), Value::from(ltc_workflow::DOCUMENTATION));
        assert_eq!(at(&read, "/result/contents/0/mimeType"), value("\"text/markdown\""));
        for wrong in ["ltc://docs/none", "ltc://docs/", "file:///etc/passwd", "ltc://docs/../language"] {
            let refused = client.ask("resources/read", &format!(r#"{{"uri":"{wrong}"}}"#)).await;
            assert!(at(&refused, "/error/code").as_number().is_some(), "{wrong}: {}", json::to_string(&refused));
        }
        // The tool gives the same text.
        let tool = client.call("read_doc", r#"{"document":"language"}"#).await;
        assert_eq!(tool.get("/text"), ltc_workflow::DOCUMENTATION);
        let mut other = world.client_of(over, era, "mcp-workflows").await;
        let refused = other.ask("resources/read", r#"{"uri":"ltc://docs/language"}"#).await;
        assert!(at(&refused, "/error/code").as_number().is_some(), "{}", json::to_string(&refused));
    }
}
