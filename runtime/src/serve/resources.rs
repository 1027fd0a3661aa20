//! The documents as resources of the server `docs`: `ltc://docs/NAME`, each as a whole.

use super::Place;
use rmcp::model::{ErrorData, ListResourcesResult, ReadResourceResponse, ReadResourceResult, Resource, ResourceContents};

/// What the addresses of documents begin with.
const ADDRESS: &str = "ltc://docs/";

const MARKDOWN: &str = "text/markdown";

/// The documents.
pub fn list(place: &Place) -> ListResourcesResult {
    let documents = place.service.documentation().documents().iter();
    let resources = documents.map(|(document, sections)| {
        let resource = Resource::new(format!("{ADDRESS}{}", document.name), document.name)
            .with_description(document.about)
            .with_mime_type(MARKDOWN)
            .with_size(u64::try_from(document.text.len()).unwrap_or(u64::MAX));
        match sections.first() {
            Some(section) => resource.with_title(section.heading.as_str()),
            None => resource,
        }
    });
    ListResourcesResult::with_all_items(resources.collect())
}

/// The document at this address.
pub fn read(place: &Place, address: &str) -> Result<ReadResourceResponse, ErrorData> {
    let document = address.strip_prefix(ADDRESS).and_then(|name| place.service.documentation().document(name));
    let Some((document, _)) = document else {
        let message = format!("there is no resource {}", crate::text::one_line(address));
        return Err(ErrorData::resource_not_found(message, Some(serde_json::json!({ "uri": address }))));
    };
    let contents = ResourceContents::text(document.text, address).with_mime_type(MARKDOWN);
    Ok(ReadResourceResult::new(vec![contents]).into())
}
