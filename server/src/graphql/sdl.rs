//! The types as SDL.

use std::fmt::Write;

use crate::graphql::field::Field;
use crate::graphql::types::Types;

/// What stands before the object types.
const SCALARS: &str = r#""A whole number of at most 53 bits, as JSON writes it."
scalar Count

"Any JSON value."
scalar JSON
"#;

/// The schema's text: scalars, then the object types in the order they are met.
pub fn print(types: &Types) -> String {
    let mut text = SCALARS.to_owned();
    for object in &types.objects {
        let fields: String = object.fields.iter().map(print_field).collect();
        let (doc, name) = (quote(&object.doc), &object.name);
        // A string takes whatever is written.
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

/// A description.
fn quote(doc: &str) -> String {
    format!("\"{}\"", doc.replace('\\', "\\\\").replace('"', "\\\""))
}
