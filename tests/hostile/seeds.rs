//! Valid requests of every operation, made from the contract itself and from the corpus of the fuzz targets.

use crate::service::root;
use serde_json::Value;
use std::fs;

/// A request of one operation before it is mutated.
#[derive(Debug, Clone)]
pub(crate) struct Seed {
    pub(crate) method: String,
    /// With `{parameters}` in braces.
    pub(crate) path: String,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) media_type: Option<String>,
    pub(crate) body: Vec<u8>,
}

/// Seeds of every operation: one for each example of a body, or one without a body.
pub(crate) fn of_contract() -> Vec<Seed> {
    let text = fs::read_to_string(root().join("openapi/openapi.yaml")).unwrap();
    let contract: Value = serde_yaml_ng::from_str(&text).unwrap();
    let mut seeds = Vec::new();
    for (path, item) in contract["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap().iter().filter(|(key, _)| *key != "parameters") {
            let parameters = [&item["parameters"], &operation["parameters"]];
            let parameters: Vec<&Value> = parameters
                .iter()
                .filter_map(|list| list.as_array())
                .flatten()
                .map(|one| resolve(&contract, one))
                .collect();
            let of_place = |place: &str| -> Vec<(String, String)> {
                let here = parameters.iter().filter(|parameter| parameter["in"] == place);
                here.map(|parameter| (text_of(&parameter["name"]), text_of(&parameter["example"]))).collect()
            };
            let seed = Seed {
                method: method.to_uppercase(),
                path: path.clone(),
                query: of_place("query"),
                headers: of_place("header").into_iter().map(soon).collect(),
                media_type: None,
                body: Vec::new(),
            };
            let bodies = bodies(&contract, operation, path);
            seeds.extend(bodies.into_iter().map(|(media_type, body)| Seed { media_type, body, ..seed.clone() }));
        }
    }
    assert!(seeds.len() > 80, "the contract has {} seeds", seeds.len());
    seeds
}

/// Nothing here waits for a job.
fn soon((name, value): (String, String)) -> (String, String) {
    if name.eq_ignore_ascii_case("prefer") { (name, "wait=0".into()) } else { (name, value) }
}

/// Follows a reference.
fn resolve<'c>(contract: &'c Value, value: &'c Value) -> &'c Value {
    match value["$ref"].as_str() {
        Some(reference) => contract.pointer(reference.trim_start_matches('#')).unwrap(),
        None => value,
    }
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(list) => list.iter().map(text_of).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// The bodies of an operation with their media types.
fn bodies(contract: &Value, operation: &Value, path: &str) -> Vec<(Option<String>, Vec<u8>)> {
    let request = resolve(contract, &operation["requestBody"]);
    let mut found: Vec<(Option<String>, Vec<u8>)> = Vec::new();
    for (media_type, content) in request["content"].as_object().into_iter().flatten() {
        let named = content["examples"].as_object().into_iter().flatten();
        let named = named.map(|(_, example)| &resolve(contract, example)["value"]);
        for example in named.chain([&content["example"]]).filter(|example| !example.is_null()) {
            found.push((Some(media_type.clone()), text_of(example).into_bytes()));
        }
    }
    let corpus: &[(&str, &str)] = match path.rsplit('/').next().unwrap_or_default() {
        "predict" => &[
            ("json", "application/json"),
            ("ndjson", "application/x-ndjson"),
            ("csv", "text/csv"),
            ("arrow", "application/vnd.apache.arrow.stream"),
        ],
        "infer" => &[("frame", "application/octet-stream")],
        "invocations" => &[("scoring", "application/json")],
        "versions" => &[("artifact", "application/octet-stream")],
        _ => &[],
    };
    if !request.is_null() {
        for (target, media_type) in corpus {
            // The first byte of these inputs is an option of the target.
            let skipped = usize::from(matches!(*target, "csv" | "json")) + 2 * usize::from(*target == "frame");
            for file in fs::read_dir(root().join("fuzz/corpus").join(target)).unwrap() {
                let bytes = fs::read(file.unwrap().path()).unwrap();
                found.push((Some((*media_type).to_owned()), bytes[skipped.min(bytes.len())..].to_vec()));
            }
        }
    }
    if found.is_empty() {
        found.push((None, Vec::new()));
    }
    found
}
