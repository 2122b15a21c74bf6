//! The document while it is made: the paths described so far, and the schemas that they refer to.

use pinakes_format::snapshot::Snapshot;
use serde_json::{Map, Value, json};

use crate::openapi::operation::{Operation, PostOperation};
use crate::openapi::schemas::Schemas;

/// A document to which endpoints add their paths.
pub struct Document<'s> {
    /// The served snapshot, for examples.
    pub snapshot: &'s Snapshot,
    pub schemas: Schemas,
    /// Path items, by path.
    pub paths: Map<String, Value>,
}

impl<'s> Document<'s> {
    /// A document without paths.
    pub fn new(snapshot: &'s Snapshot) -> Document<'s> {
        Document { snapshot, schemas: Schemas::default(), paths: Map::new() }
    }

    /// Adds the GET of a path.
    pub fn add(&mut self, path: &str, operation: Operation) {
        self.paths.insert(path.to_owned(), operation.into_path_item());
    }

    /// Adds the POST of a path that takes no GET.
    pub fn add_post(&mut self, path: &str, post: PostOperation) {
        self.paths.insert(path.to_owned(), json!({ "post": (post.into_value()) }));
    }

    /// Adds the GET and the POST of a path. The parameters are those of the GET.
    pub fn add_both(&mut self, path: &str, get: Operation, post: PostOperation) {
        let mut item = get.into_path_item();
        if let Some(members) = item.as_object_mut() {
            if let Some(parameters) = members.shift_remove("parameters") {
                members["get"]["parameters"] = parameters.clone();
                members["head"]["parameters"] = parameters;
            }
            members.insert("post".into(), post.into_value());
        }
        self.paths.insert(path.to_owned(), item);
    }
}
