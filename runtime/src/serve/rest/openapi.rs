//! The OpenAPI document of the REST routes, made of the list of operations.

use crate::service::{OPERATIONS, Operation, Rest, Verb, refusal_schema};
use serde_json::{Map, Value, json};

/// The document, in OpenAPI 3.1.
pub fn document() -> Value {
    let mut paths = Map::new();
    for operation in OPERATIONS {
        if let Rest::At(verb, path) = operation.rest {
            let item = paths.entry(path).or_insert_with(|| json!({}));
            item[method(verb)] = described(operation, verb, path);
        }
    }
    json!({
        "openapi": "3.1.0",
        "info": { "title": "ltc", "version": env!("CARGO_PKG_VERSION"), "description": "Workflows, runs, and questions to people." },
        "paths": paths,
        "components": {
            "schemas": { "Refusal": refusal_schema() },
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
        },
        "security": [{}, { "token": [] }],
    })
}

fn method(verb: Verb) -> &'static str {
    match verb {
        Verb::Get => "get",
        Verb::Post => "post",
        Verb::Put => "put",
        Verb::Delete => "delete",
    }
}

fn described(operation: &Operation, verb: Verb, path: &str) -> Value {
    let schema = operation.input_schema();
    let required: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let has_body = matches!(verb, Verb::Post | Verb::Put);
    let (mut parameters, mut fields) = (Vec::new(), Map::new());
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        let is_in_path = path.contains(&format!("{{{name}}}"));
        if has_body && !is_in_path {
            fields.insert(name.clone(), schema.clone());
            continue;
        }
        let mut parameter = json!({
            "name": name,
            "in": if is_in_path { "path" } else { "query" },
            "required": is_in_path || required.contains(&name.as_str()),
            "description": schema["description"],
            "schema": schema,
        });
        if is_list(schema) {
            parameter["style"] = json!("form");
            parameter["explode"] = json!(false);
        }
        parameters.push(parameter);
    }
    let mut described = json!({
        "operationId": operation.name,
        "summary": operation.about,
        "parameters": parameters,
        "responses": responses(operation),
    });
    if has_body {
        let required: Vec<&str> = required.into_iter().filter(|name| fields.contains_key(*name)).collect();
        let is_required = !required.is_empty();
        let schema = json!({ "type": "object", "properties": fields, "required": required, "additionalProperties": false });
        described["requestBody"] = json!({ "required": is_required, "content": { "application/json": { "schema": schema } } });
    }
    described
}

fn is_list(schema: &Value) -> bool {
    schema["type"] == "array" || schema["type"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "array"))
}

fn responses(operation: &Operation) -> Value {
    let refusal = |about: &str| json!({ "description": about, "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Refusal" } } } });
    json!({
        "200": { "description": "It was done.", "content": { "application/json": { "schema": operation.output_schema() } } },
        "400": refusal("The request cannot be read."),
        "401": refusal("A token is needed."),
        "403": refusal("The `Host` or `Origin` is none of those that may come."),
        "404": refusal("There is nothing of that name."),
        "409": refusal("It is in a state in which this cannot be done."),
        "413": refusal("The body is too large."),
        "415": refusal("The body is not JSON."),
        "422": refusal("The input, or a document in it, is wrong."),
        "500": refusal("What is kept cannot be read."),
        "502": refusal("A server, a secret or a variable that is needed is not there."),
        "503": refusal("The store cannot be used just now."),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_an_input_has_its_place_once_and_every_path_its_parameters() {
        let document = document();
        for operation in OPERATIONS {
            let Rest::At(verb, path) = operation.rest else { continue };
            let described = &document["paths"][path][method(verb)];
            assert_eq!(described["operationId"], operation.name, "two operations at {path}");
            let parameters: Vec<&str> =
                described["parameters"].as_array().expect("a list").iter().filter_map(|parameter| parameter["name"].as_str()).collect();
            let body = described["requestBody"]["content"]["application/json"]["schema"]["properties"].as_object();
            for field in operation.input_schema()["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
                let places =
                    usize::from(parameters.contains(&field.as_str())) + usize::from(body.is_some_and(|body| body.contains_key(field)));
                assert_eq!(places, 1, "{}: {field}", operation.name);
            }
            for name in path.split('{').skip(1).filter_map(|rest| rest.split('}').next()) {
                assert!(parameters.contains(&name), "{}: {name} is no field", operation.name);
            }
        }
    }
}
