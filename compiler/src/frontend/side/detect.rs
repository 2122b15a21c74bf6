//! Knowing a side table by its content.

use std::path::Path;

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::frontend::side::{SideTable, header, keys};
use crate::read::elements::Elements;
use crate::read::lenient::{IdText, Text};
use crate::read::limits::Reading;

/// What a file was found to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognised {
    /// A side table.
    Table(SideTable),
    /// ROR's records of schema 1, which are not read.
    RorSchema1,
    /// Nothing of this kind.
    Nothing,
}

impl Recognised {
    /// Whether it is ROR's of schema 1.
    pub fn is_ror_schema_1(self) -> bool {
        self == Recognised::RorSchema1
    }
}

/// The side table that a file named on the command line is: of any kind, where that is told by its
/// content, or of the kind it was given as. `None` where no kind was given and it is none.
///
/// # Errors
///
/// Where it cannot be read, is not of the kind it was given as, or is of a schema that is not read.
pub fn given(path: &Path, kind: Option<SideTable>) -> Result<Option<SideTable>> {
    let refuse = |reason: String| Err(Error::Input { path: path.to_path_buf(), reason });
    let found = match recognise(path) {
        // Bytes of some other kind; whoever knows them says what is wrong with them.
        Err(Error::Damaged { .. }) if kind.is_none() => Recognised::Nothing,
        found => found?,
    };
    match (kind, found) {
        (_, Recognised::RorSchema1) => refuse(
            "is ROR schema 1, which is not read; fetch the same release in schema 2".to_owned(),
        ),
        (None, Recognised::Table(table)) => Ok(Some(table)),
        (None, Recognised::Nothing) => Ok(None),
        (Some(kind), Recognised::Table(table)) if kind == table => Ok(Some(kind)),
        (Some(kind), _) if header::find(path, Some(kind))?.is_some() => Ok(Some(kind)),
        (Some(kind), _) => {
            refuse(format!("is no {} table; expected {}", kind.name(), kind.expected()))
        }
    }
}

/// The members that tell what an object is.
#[derive(Default, Deserialize)]
#[serde(default, bound(deserialize = "'de: 'a"))]
struct Shape<'a> {
    id: IdText<'a>,
    names: Option<serde::de::IgnoredAny>,
    #[serde(rename = "orcid-identifier")]
    orcid_identifier: Option<serde::de::IgnoredAny>,
    orcid: Text<'a>,
    display_name: Option<serde::de::IgnoredAny>,
    path: Text<'a>,
}

/// Looks at a file: the header of a table, the shape of the first JSON object.
///
/// # Errors
///
/// Where it cannot be read.
pub fn recognise(path: &Path) -> Result<Recognised> {
    let mut elements = Elements::open(path, &Reading::to_recognise())?;
    let Some(first) = elements.next_element()? else { return Ok(Recognised::Nothing) };
    let first = first.bytes.trim_ascii_start();
    if first.starts_with(b"{") {
        return Ok(
            serde_json::from_slice(first).map_or(Recognised::Nothing, |shape| of_shape(&shape))
        );
    }
    if elements.is_array() {
        return Ok(Recognised::Nothing);
    }
    let header = header::find(path, None)?;
    Ok(header.map_or(Recognised::Nothing, |header| Recognised::Table(header.table)))
}

fn of_shape(shape: &Shape<'_>) -> Recognised {
    let id = shape.id.0.as_str().unwrap_or_default();
    if id.contains("ror.org/") && keys::ror(id).is_some() {
        return match shape.names {
            Some(_) => Recognised::Table(SideTable::Ror),
            None => Recognised::RorSchema1,
        };
    }
    let is_orcid = |text: &str| text.split('/').any(|part| keys::orcid(part).is_some());
    let path = shape.path.as_str().unwrap_or_default();
    let is_person = shape.orcid_identifier.is_some() || is_orcid(id) || is_orcid(path);
    // Authors of an OpenAlex dump have an `orcid` too, beside an id and a display name of their own.
    let is_author = !id.is_empty() || shape.display_name.is_some();
    if is_person || (!is_author && shape.orcid.as_str().is_some_and(is_orcid)) {
        return Recognised::Table(SideTable::Orcid);
    }
    Recognised::Nothing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_known_by_its_shape() {
        for (json, expected) in [
            (r#"{"id":"https://ror.org/013meh722","names":[]}"#, Recognised::Table(SideTable::Ror)),
            (r#"{"id":"https://ror.org/013meh722","name":"a"}"#, Recognised::RorSchema1),
            (r#"{"orcid-identifier":{}}"#, Recognised::Table(SideTable::Orcid)),
            (r#"{"orcid":"0000-0002-1825-0097"}"#, Recognised::Table(SideTable::Orcid)),
            (r#"{"id":"0000-0002-1825-0097"}"#, Recognised::Table(SideTable::Orcid)),
            (r#"{"path":"/0000-0002-1825-0097/person"}"#, Recognised::Table(SideTable::Orcid)),
            (
                r#"{"id":"https://openalex.org/A1","orcid":"0000-0002-1825-0097"}"#,
                Recognised::Nothing,
            ),
            (r#"{"display_name":"a","orcid":"0000-0002-1825-0097"}"#, Recognised::Nothing),
            (r#"{"id":7}"#, Recognised::Nothing),
            ("{}", Recognised::Nothing),
        ] {
            let shape = serde_json::from_str(json).unwrap_or_default();
            assert_eq!(of_shape(&shape), expected, "{json}");
        }
    }
}
