//! Prints the types as SDL, the schema language of GraphQL.

use std::fmt::Write;

use crate::dialects::graphql::field::Field;
use crate::dialects::graphql::types::Types;

/// The definitions of the custom scalars.
const SCALARS: &str = r#""An integer of at most 53 bits."
scalar Count

"Any JSON value."
scalar JSON
"#;

/// Prints the scalars, then the object types in the order of [`Types::objects`].
pub fn print(types: &Types) -> String {
    let mut text = SCALARS.to_owned();
    for object in &types.objects {
        let fields: String = object.fields.iter().map(print_field).collect();
        let (doc, name) = (quote(&object.doc), &object.name);
        // Writing to a `String` cannot fail.
        let _ = write!(text, "\n{doc}\ntype {name} {{\n{fields}}}\n");
    }
    text
}

fn print_field(field: &Field) -> String {
    let (doc, name, type_text) = (quote(&field.doc), &field.name, &field.type_text);
    if field.arguments.is_empty() {
        return format!("  {doc}\n  {name}: {type_text}\n");
    }
    let arguments: String = field
        .arguments
        .iter()
        .map(|(name, type_text, doc)| format!("    {}\n    {name}: {type_text}\n", quote(doc)))
        .collect();
    format!("  {doc}\n  {name}(\n{arguments}  ): {type_text}\n")
}

/// Quotes a description.
fn quote(doc: &str) -> String {
    format!("\"{}\"", doc.replace('\\', "\\\\").replace('"', "\\\""))
}
