//! From the tree of what is asked to a plan: checked queries, selections by place, and what they
//! cost before any is begun.
//!
//! A record costs 1 and what is asked of the records it refers to; a list costs `per_page` times
//! that and 1. Of a member that is a list of references one is counted, as how many there are is
//! not known before the record is read; they are counted then.

use pinakes_format::autocomplete::RESULTS_MAX;
use pinakes_format::entity::Entity;
use pinakes_format::json::select::{Selected, SelectedValue, Selection};
use pinakes_format::query::Query;

use crate::api::list_query;
use crate::graphql::arguments;
use crate::graphql::document::{Asked, Document};
use crate::graphql::error::Error;
use crate::graphql::field::Way;
use crate::graphql::types::Types;
use crate::http::body::BODY_BYTES_MAX;

/// Bytes that the arguments of a document may come to: as many as its body may have.
const ARGUMENT_BYTES_MAX: usize = BODY_BYTES_MAX;
/// Fields whose arguments may be wrong; to say what would be right takes longer than to see it.
const WRONG_MAX: usize = 10;

/// What is to be answered.
pub struct Plan<'d> {
    /// The fields of the answer, in its order.
    pub roots: Vec<Root<'d>>,
    /// The lists that are asked for, anywhere, or why they are `null`.
    pub lists: Vec<Result<List, Error>>,
}

/// A field of the answer.
pub struct Root<'d> {
    /// Its name.
    pub key: &'d str,
    /// What stands there.
    pub question: Question<'d>,
}

/// What is asked at the root.
pub enum Question<'d> {
    /// This JSON.
    Constant(String),
    /// A record by its number.
    Record(Entity, u64, Selection),
    /// A list, by its number.
    List(usize),
    /// What a text being typed may mean.
    Autocomplete(Autocomplete),
    /// Nothing: `null`, and why.
    Wrong(Error),
    /// The schema, or a type of it by name.
    Schema(Option<String>, &'d Asked<'d>),
}

/// A list that is asked for.
pub struct List {
    /// The question. Where it is one about a record, it has an expression more for each.
    pub query: Query,
    /// The key of that expression.
    pub key: Option<&'static str>,
    /// What is asked of the page.
    pub members: Vec<(String, PagePart)>,
}

/// A text being typed.
pub struct Autocomplete {
    /// The entities whose names it may be.
    pub entities: Vec<Entity>,
    /// The text.
    pub text: String,
    /// What is asked of the page.
    pub members: Vec<(String, PagePart)>,
}

/// A part of a page.
pub enum PagePart {
    /// This JSON.
    Constant(String),
    /// Members of `meta`.
    Meta(Vec<(String, Named)>),
    /// Records.
    Results(Selection),
    /// Candidates.
    Candidates(Vec<(String, Named)>),
}

/// A member that is found by its name in REST.
pub enum Named {
    /// This JSON.
    Constant(String),
    /// What has this name.
    Member(&'static str),
}

/// Plans what is asked of a document.
///
/// # Errors
///
/// Where the whole asks for more than may be: of records, of bytes of arguments, or of what is wrong.
pub fn plan<'d>(
    types: &Types,
    document: &'d Document,
    asked: &'d [Asked<'d>],
    records_max: u64,
) -> Result<Plan<'d>, Vec<Error>> {
    let mut planner =
        Planner { types, document, lists: Vec::new(), argument_bytes: 0, wrong_count: 0 };
    let mut roots = Vec::with_capacity(asked.len());
    let mut records: u64 = 0;
    for asked in asked {
        let (question, cost) = planner.root(asked).map_err(|error| vec![error])?;
        records = records.saturating_add(cost);
        roots.push(Root { key: asked.key, question });
    }
    if records > records_max {
        let message = format!(
            "asks for up to {records} records at once, of {records_max} at most; lower per_page, \
             or ask in parts"
        );
        return Err(vec![Error::new(message)]);
    }
    Ok(Plan { roots, lists: planner.lists })
}

struct Planner<'d, 't> {
    types: &'t Types,
    document: &'d Document,
    lists: Vec<Result<List, Error>>,
    /// Bytes of arguments that were read: a variable counts wherever it is used.
    argument_bytes: usize,
    /// Fields whose arguments are wrong.
    wrong_count: usize,
}

impl<'d> Planner<'d, '_> {
    fn root(&mut self, asked: &'d Asked<'d>) -> Result<(Question<'d>, u64), Error> {
        let name = asked.field.name.as_str();
        match (name, self.types.way(asked.of, name)) {
            ("__typename", _) => Ok((Question::Constant(type_name(asked)), 0)),
            ("__schema", _) => Ok((Question::Schema(None, asked), 0)),
            ("__type", _) => {
                let name = self.argument(asked, "name")?.unwrap_or_default();
                Ok((Question::Schema(Some(name), asked), 0))
            }
            (_, Some(Way::ById(entity))) => {
                let id = self.argument(asked, "id")?.unwrap_or_default();
                let (selection, cost) = self.selection(&asked.children)?;
                let question = match arguments::number(*entity, &id) {
                    Ok(Some(number)) => Question::Record(*entity, number, selection),
                    Ok(None) => Question::Constant("null".to_owned()),
                    // Why is the same few words each time, however many there are.
                    Err(error) => Question::Wrong(error),
                };
                Ok((question, cost.saturating_add(1)))
            }
            (_, Some(Way::List(entity, key))) => {
                let (number, cost) = self.list(*entity, *key, asked)?;
                Ok((Question::List(number), cost))
            }
            (_, Some(Way::Autocomplete)) => self.autocomplete(asked),
            _ => Err(unplanned(asked)),
        }
    }

    /// What is asked of a value, and the records that costs beside the one it is of.
    fn selection(&mut self, asked: &'d [Asked<'d>]) -> Result<(Selection, u64), Error> {
        let mut selected = Vec::with_capacity(asked.len());
        let mut cost: u64 = 0;
        for asked in asked {
            let name = asked.field.name.as_str();
            let part = if name == "__typename" {
                SelectedValue::Constant(type_name(asked).into())
            } else {
                let way = self.types.way(asked.of, name).ok_or_else(|| unplanned(asked))?;
                let (part, below) = self.part(way, asked)?;
                cost = cost.saturating_add(below);
                part
            };
            selected.push(Selected { key: written(asked).into(), value: part });
        }
        Ok((Selection(selected), cost))
    }

    fn part(&mut self, way: &Way, asked: &'d Asked<'d>) -> Result<(SelectedValue, u64), Error> {
        match way {
            Way::Member(at) => {
                let (selection, cost) = self.selection(&asked.children)?;
                Ok((SelectedValue::Member(*at, selection), cost))
            }
            Way::Flat(at, inner) => {
                let (part, cost) = self.part(inner, asked)?;
                Ok((SelectedValue::Flat(*at, Box::new(part)), cost))
            }
            Way::Id => Ok((SelectedValue::Id, 0)),
            Way::Name => Ok((SelectedValue::Name, 0)),
            Way::Code => Ok((SelectedValue::Code, 0)),
            Way::Record(_) => {
                let (selection, cost) = self.selection(&asked.children)?;
                Ok((SelectedValue::Record(selection), cost.saturating_add(1)))
            }
            Way::List(entity, key) => {
                let (number, cost) = self.list(*entity, *key, asked)?;
                Ok((SelectedValue::Resolved(number), cost))
            }
            _ => Err(unplanned(asked)),
        }
    }

    fn list(
        &mut self,
        entity: Entity,
        key: Option<&'static str>,
        asked: &'d Asked<'d>,
    ) -> Result<(usize, u64), Error> {
        let mut given = Vec::new();
        for (name, ..) in list_query::arguments(entity) {
            given.extend(self.argument(asked, name)?.map(|value| (name, value)));
        }
        let query = match arguments::query(entity, given) {
            Ok(query) => query,
            Err(error) => {
                let wrong = self.wrong(asked, error)?;
                self.lists.push(Err(wrong));
                return Ok((self.lists.len() - 1, 0));
            }
        };
        let mut members = Vec::with_capacity(asked.children.len());
        let mut cost: u64 = 1;
        for child in &asked.children {
            let part = match self.types.way(child.of, child.field.name.as_str()) {
                Some(Way::Results) => {
                    let (selection, below) = self.selection(&child.children)?;
                    let records = u64::from(query.per_page).saturating_mul(below.saturating_add(1));
                    cost = cost.saturating_add(records);
                    PagePart::Results(selection)
                }
                _ => self.meta(child)?,
            };
            members.push((written(child), part));
        }
        self.lists.push(Ok(List { query, key, members }));
        Ok((self.lists.len() - 1, cost))
    }

    /// An argument of a field, which counts towards what all may come to. Without that, a filter that
    /// takes long to read, asked for in each of two thousand lists, took seconds and gigabytes.
    fn argument(&mut self, asked: &Asked<'_>, name: &str) -> Result<Option<String>, Error> {
        let value = self.document.argument(asked.field, name);
        self.argument_bytes += value.as_ref().map_or(0, String::len);
        if self.argument_bytes > ARGUMENT_BYTES_MAX {
            let message = format!(
                "has arguments of more than {ARGUMENT_BYTES_MAX} bytes, each counted wherever it is \
                 used; ask in parts"
            );
            return Err(self.document.at(asked.field, Error::new(message)));
        }
        Ok(value)
    }

    /// What is wrong with a field's arguments, to be told where the field stands in the answer.
    ///
    /// Whoever has many of them wrong is told once: each reason looks for what was meant among all
    /// keys there are.
    fn wrong(&mut self, asked: &Asked<'_>, error: Error) -> Result<Error, Error> {
        self.wrong_count += 1;
        if self.wrong_count > WRONG_MAX {
            let message = format!(
                "has wrong arguments in more than {WRONG_MAX} fields, this one among them; ask in \
                 parts to be told what would be right"
            );
            return Err(self.document.at(asked.field, Error::new(message)));
        }
        Ok(self.document.at(asked.field, error))
    }

    fn autocomplete(&mut self, asked: &'d Asked<'d>) -> Result<(Question<'d>, u64), Error> {
        let text = self.argument(asked, "query")?.unwrap_or_default();
        let name = self.argument(asked, "entity_type")?;
        let entities = match arguments::completion(&text, name.as_deref()) {
            Ok(entities) => entities,
            Err(error) => return Ok((Question::Wrong(self.wrong(asked, error)?), 0)),
        };
        let mut members = Vec::with_capacity(asked.children.len());
        for child in &asked.children {
            let part = match self.types.way(child.of, child.field.name.as_str()) {
                Some(Way::Results) => PagePart::Candidates(self.named(child)?),
                _ => self.meta(child)?,
            };
            members.push((written(child), part));
        }
        let question = Question::Autocomplete(Autocomplete { entities, text, members });
        Ok((question, 1 + RESULTS_MAX as u64))
    }

    /// A part of a page that is not its results.
    fn meta(&self, asked: &Asked<'_>) -> Result<PagePart, Error> {
        if asked.field.name == "__typename" {
            return Ok(PagePart::Constant(type_name(asked)));
        }
        Ok(PagePart::Meta(self.named(asked)?))
    }

    fn named(&self, asked: &Asked<'_>) -> Result<Vec<(String, Named)>, Error> {
        let of = |child: &Asked<'_>| {
            let name = child.field.name.as_str();
            let named = match self.types.way(child.of, name) {
                Some(Way::Named(name)) => Named::Member(name),
                _ if name == "__typename" => Named::Constant(type_name(child)),
                _ => return Err(unplanned(child)),
            };
            Ok((written(child), named))
        };
        asked.children.iter().map(of).collect()
    }
}

/// A key as it is written, its comma aside; a name of GraphQL needs no escape.
fn written(asked: &Asked<'_>) -> String {
    format!("\"{}\":", asked.key)
}

fn type_name(asked: &Asked<'_>) -> String {
    format!("\"{}\"", asked.of)
}

/// A validated field that no type has: types and schema are of one making.
fn unplanned(asked: &Asked<'_>) -> Error {
    Error::new(format!("`{}.{}` cannot be answered", asked.of, asked.field.name))
}
