//! The members that records show, as a tree, and selections of them.
//!
//! The tree follows the declarations. Members of flat members stand in the surrounding object, and
//! references and named codes have their two members. Example, of outputs in lists:
//!
//! ```text
//! id   doi   …   authors                               …   primary_topic
//!                author_position  id  name  orcid  …       id  name
//! ```
//!
//! A selection keeps some nodes, in the order of the interface. The parameter `select` and the option
//! `--select` are parsed in `query::select`.

use std::sync::LazyLock;

use crate::entity::{Entity, with_record};
use crate::json::record_reader::RecordReader;
use crate::json::render::{CurrentRecord, JsonWriter, RecordStore, Render, Shape};
use crate::json::select::{
    MemberSelection, PathStep, Resolver, SelectError, Selected, SelectedValue, SelectionWriter,
};
use crate::record::schema::{ObjectSchema, Schema, Shown};
use crate::record::schema_of;
use crate::storage::ReadError;

/// Where records are shown, which decides what members they have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// Items of a list.
    List,
    /// Single records.
    Single,
    /// Lines of an export: single records, with the members that no reply shows.
    Export,
}

impl View {
    /// The shape of the records' JSON.
    pub fn shape(self) -> Shape {
        match self {
            View::List => Shape::List,
            View::Single | View::Export => Shape::Single,
        }
    }

    fn shows(self, shown: Shown) -> bool {
        match shown {
            Shown::Always | Shown::Flat => true,
            Shown::Single => self != View::List,
            Shown::KeyOnly => self == View::Export,
        }
    }
}

/// One member, in the order of the interface.
#[derive(Clone, Debug)]
pub struct Member {
    /// Name in JSON.
    pub name: &'static str,
    /// Whether the value is an object whose keys are data, such as years.
    pub has_free_keys: bool,
    /// The members of the object, or of the objects of the list; empty for other values.
    pub members: Vec<Member>,
    /// Indices of the flat members on the way to the value, outermost first.
    flats: Vec<usize>,
    value: MemberValue,
}

/// The part of the innermost object that a member shows.
#[derive(Clone, Copy, Debug)]
enum MemberValue {
    /// The member with this index in the declaration.
    Declared(usize),
    /// The id of a reference.
    Id,
    /// The name of a reference, or of a code.
    Name,
    /// The text of a code.
    Code,
}

/// The members that the records of an entity show: all of a view, or a selection.
#[derive(Clone, Debug)]
pub struct Members {
    /// The entity of the records.
    pub entity: Entity,
    view: View,
    members: Vec<Member>,
    /// `None` for all members.
    selection: Option<MemberSelection>,
}

/// The members of each entity, by view. Their schemas take longer to make than a page of records.
static ALL: LazyLock<[Vec<Members>; 3]> = LazyLock::new(|| {
    [View::List, View::Single, View::Export].map(|view| {
        let members = |entity| members_of(&schema_of(entity), view);
        let all = |entity| Members { entity, view, members: members(entity), selection: None };
        Entity::all().map(all).collect()
    })
});

impl Members {
    /// All members of a view.
    pub fn all(entity: Entity, view: View) -> &'static Members {
        &ALL[view as usize][entity as usize]
    }

    /// Where the members are shown.
    pub fn view(&self) -> View {
        self.view
    }

    /// The members, in the order of the interface.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Keeps the members at these paths, each a list of indices into the trees on the way, with
    /// everything below them.
    #[must_use]
    pub fn select(&self, paths: &[Vec<usize>]) -> Members {
        let paths: Vec<&[usize]> = paths.iter().map(Vec::as_slice).collect();
        let members = prune(&self.members, &paths);
        let selection = Some(MemberSelection(members.iter().map(Member::selected).collect()));
        Members { members, selection, ..*self }
    }

    /// An empty writer for the records.
    pub fn writer<'s>(&self, store: &'s dyn RecordStore) -> JsonWriter<'s> {
        match self.view {
            View::Export => JsonWriter::for_export(store),
            view => JsonWriter::new(store, view.shape()),
        }
    }

    /// Appends the JSON of the record in a row to a writer of [`Members::writer`].
    ///
    /// Cost: the members; a selection passes over the whole record first.
    ///
    /// # Errors
    ///
    /// If the snapshot is damaged, or the row has no record. The writer then holds an incomplete text.
    pub fn render(&self, row: u32, writer: &mut JsonWriter<'_>) -> Result<(), ReadError> {
        if let Some(selection) = &self.selection {
            let mut writer = SelectionWriter { json: writer, resolver: &mut Unlimited };
            return match writer.record(self.entity, row, selection) {
                Ok(()) => Ok(()),
                Err(SelectError::Damaged(error)) => Err(error),
                Err(SelectError::Cancelled) => {
                    Err(ReadError::Internal("a selection without limits was cancelled"))
                }
            };
        }
        let record = writer.store().record(self.entity, row)?;
        writer.swap_record(CurrentRecord::new(record));
        with_record!(self.entity, R => {
            R::render(&mut RecordReader::new(record.packed)?, writer)
        })
    }
}

impl Member {
    /// The member as the machinery of selections writes it.
    fn selected(&self) -> Selected {
        let value = match self.value {
            MemberValue::Declared(at) => SelectedValue::Member(
                at,
                MemberSelection(self.members.iter().map(Member::selected).collect()),
            ),
            MemberValue::Id => SelectedValue::Id,
            MemberValue::Name => SelectedValue::Name,
            MemberValue::Code => SelectedValue::Code,
        };
        let flat = |value, at: &usize| SelectedValue::Flat(*at, Box::new(value));
        Selected {
            key: format!("\"{}\":", self.name).into(),
            value: self.flats.iter().rev().fold(value, flat),
        }
    }

    /// A member of a reference or of a named code.
    fn part(name: &'static str, value: MemberValue) -> Member {
        Member { name, has_free_keys: false, members: Vec::new(), flats: Vec::new(), value }
    }
}

/// A resolver without limits, for selections of the record alone.
struct Unlimited;

impl Resolver for Unlimited {
    fn enter(&mut self, _: PathStep<'_>) {}

    fn leave(&mut self) {}

    fn before_record(&mut self, _: usize) -> Result<(), SelectError> {
        Ok(())
    }

    fn check_size(&mut self, _: usize) -> Result<(), SelectError> {
        Ok(())
    }

    fn write_resolved(
        &mut self,
        _: usize,
        _: Entity,
        _: u32,
        _: &mut JsonWriter<'_>,
    ) -> Result<(), SelectError> {
        Err(ReadError::Internal("a selection of members has a value outside the record").into())
    }
}

/// The members of a value in a view.
fn members_of(schema: &Schema, view: View) -> Vec<Member> {
    match schema {
        Schema::Nullable(inner) | Schema::List(inner) => members_of(inner, view),
        Schema::ByShape { single, list } => members_of(by_shape(single, list, view), view),
        Schema::Object(object) => members_of_object(object, view),
        Schema::Reference(_) | Schema::ParentReference(_) => {
            vec![Member::part("id", MemberValue::Id), Member::part("name", MemberValue::Name)]
        }
        Schema::NamedCode(_) => {
            vec![Member::part("code", MemberValue::Code), Member::part("name", MemberValue::Name)]
        }
        _ => Vec::new(),
    }
}

fn members_of_object(object: &ObjectSchema, view: View) -> Vec<Member> {
    let mut members = Vec::new();
    for (at, member) in object.members.iter().enumerate() {
        match member.shown {
            Shown::Flat => {
                members.extend(members_of(&member.schema, view).into_iter().map(|mut inner| {
                    inner.flats.insert(0, at);
                    inner
                }))
            }
            shown if view.shows(shown) => members.push(Member {
                name: member.name,
                has_free_keys: has_free_keys(&member.schema, view),
                members: members_of(&member.schema, view),
                flats: Vec::new(),
                value: MemberValue::Declared(at),
            }),
            _ => {}
        }
    }
    if view == View::List && !object.list_order.is_empty() {
        members
            .sort_by_key(|member| object.list_order.iter().position(|name| *name == member.name));
    }
    members
}

fn has_free_keys(schema: &Schema, view: View) -> bool {
    match schema {
        Schema::Nullable(inner) | Schema::List(inner) => has_free_keys(inner, view),
        Schema::ByShape { single, list } => has_free_keys(by_shape(single, list, view), view),
        Schema::Json | Schema::YearMap(_) => true,
        _ => false,
    }
}

fn by_shape<'s>(single: &'s Schema, list: &'s Schema, view: View) -> &'s Schema {
    match view.shape() {
        Shape::Single => single,
        Shape::List => list,
    }
}

fn prune(members: &[Member], paths: &[&[usize]]) -> Vec<Member> {
    let kept = members.iter().enumerate().filter_map(|(at, member)| {
        let below: Vec<&[usize]> = paths
            .iter()
            .filter_map(|path| path.split_first().filter(|(first, _)| **first == at))
            .map(|(_, rest)| rest)
            .collect();
        match below[..] {
            [] => None,
            _ if below.iter().any(|rest| rest.is_empty()) => Some(member.clone()),
            _ => Some(Member { members: prune(&member.members, &below), ..member.clone() }),
        }
    });
    kept.collect()
}
