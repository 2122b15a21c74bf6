//! Resolves the lines of the table into keys, from the declarations of their members.

use crate::entity::{Entity, with_record};
use crate::record::gather::{FoundPath, find_path};
use crate::record::{PathTarget, PathTree, Record, Schema, schema_of};
use crate::schema::identifier::Scheme;
use crate::schema::keys::lines::{
    Aspect, FOLLOWING, Line, Source, counted, crossed, followers, is_filtered, is_sorted, lines,
};
use crate::schema::keys::{
    Bound, CountedOrder, Direction, Index, Key, Keys, Kind, NameRole, Order, PathUse,
    ScannedValues, TermLists, Terms, Values,
};

/// The member with the name of a record.
const NAME: &str = "name";

/// The keys of every entity.
///
/// # Panics
///
/// If a line names no member, or a member without an index. This is a mistake in the table of
/// lines; every test that uses keys finds it.
pub(super) fn all() -> Vec<Keys> {
    let mut all: Vec<Keys> = Entity::all().map(of_entity).collect();
    let indexes: Vec<Index> =
        all.iter().flat_map(|keys| &keys.keys).filter_map(|key| key.filter).collect();
    for index in &indexes {
        if let Index::Names { entity, .. } = index {
            let Keys { lists, unresolved_names, .. } = &mut all[*entity as usize];
            let path = "names of unresolved references";
            add_unresolved(unresolved_names, lists, path, Terms::Texts);
        }
    }
    for index in &indexes {
        if let Index::ReferenceWords { entity, .. } = index {
            let Keys { lists, unresolved_words, .. } = &mut all[*entity as usize];
            let path = "words of unresolved references";
            add_unresolved(unresolved_words, lists, path, Terms::Prefixes);
        }
    }
    FOLLOWING.into_iter().for_each(|entity| add_followers(&mut all, entity));
    all
}

/// The keys of an entity's list in the interface, of those in OpenAlex's dialect.
pub(super) fn of_interface(openalex: &Keys, entity: Entity) -> Keys {
    let mut keys = openalex.clone();
    for key in &mut keys.keys {
        key.filter = key.filter.filter(|_| is_filtered(entity));
        key.sort = key.sort.filter(|_| is_sorted(entity, key.name));
    }
    keys.value_sorts.clear();
    keys.keys.retain(|key| key.filter.is_some() || key.sort.is_some());
    keys
}

/// Adds the keys that follow from other keys.
fn add_followers(all: &mut [Keys], entity: Entity) {
    for follower in followers(entity) {
        let key_of = |entity: Entity, name: &str| match all[entity as usize].filter(name) {
            Some((key, index)) => (key.clone(), index),
            None => panic!("the key `{}` follows from no key `{name}`", follower.name),
        };
        // The keys live as long as the program, and so do the indexes that they consist of.
        let kept = |index: Index| -> &'static Index { Box::leak(Box::new(index)) };
        let any = |indexes: Vec<Index>| match indexes[..] {
            [index] => index,
            _ => Index::Any(Vec::leak(indexes)),
        };
        let through = |references: &[&str], (beyond, name): (Entity, &str)| {
            let (key, index) = key_of(beyond, name);
            let index = kept(index);
            let (mut indexes, mut is_many) = (Vec::new(), key.is_many || references.len() > 1);
            for reference in references {
                let (reference, of_rows) = key_of(entity, reference);
                let Index::Lists(rows) = of_rows else {
                    panic!("the key `{}` leads through no reference", follower.name);
                };
                is_many |= reference.is_many;
                indexes.push(Index::Through { entity: beyond, rows, index });
            }
            (Key { is_many, ..key }, indexes)
        };
        let (key, index) = match follower.from {
            Source::Any(names) => {
                let found: Vec<_> = names.iter().map(|name| key_of(entity, name)).collect();
                let indexes = found.iter().map(|(_, index)| *index).collect();
                (Key { is_many: true, ..found[0].0.clone() }, any(indexes))
            }
            Source::Through(references, beyond, name) => {
                let (key, indexes) = through(references, (beyond, name));
                (key, any(indexes))
            }
            Source::Either(references, beyond) => {
                let [one, other] = beyond.map(|beyond| through(references, beyond));
                let key = Key { kind: Kind::AnyId, ..one.0 };
                (key, any([one.1, other.1].concat()))
            }
            Source::OneOf(name, codes) => {
                let (key, index) = key_of(entity, name);
                let key = Key { kind: Kind::Boolean, is_many: false, ..key };
                (key, Index::OneOf { index: kept(index), codes })
            }
            Source::Classes(name, classes) => {
                let (key, index) = key_of(entity, name);
                (key, Index::Classes { index: kept(index), classes })
            }
        };
        let key = Key { name: follower.name, filter: Some(index), sort: None, ..key };
        all[entity as usize].keys.push(key);
    }
}

/// Adds the lists of names without a record, unless there are some.
fn add_unresolved(
    number: &mut Option<usize>,
    lists: &mut Vec<TermLists>,
    path: &str,
    terms: Terms,
) {
    if number.is_none() {
        *number = Some(lists.len());
        lists.push(TermLists { path: path.into(), terms });
    }
}

fn of_entity(entity: Entity) -> Keys {
    let mut builder = KeysBuilder {
        schema: schema_of(entity),
        ordered_by: with_record!(entity, R => R::ORDERED_BY),
        keys: Keys {
            route: entity.facts().route,
            keys: Vec::new(),
            value_sorts: Vec::new(),
            lists: Vec::new(),
            orders: Vec::new(),
            crossed: Vec::new(),
            counted: Vec::new(),
            targets: Vec::new(),
            unresolved_names: None,
            unresolved_words: None,
            names: Vec::new(),
            tree: PathTree::default(),
            ends: Vec::new(),
        },
        paths: Vec::new(),
    };
    for line in lines(entity) {
        let key = builder.key(&line);
        builder.keys.keys.push(key);
    }
    if !builder.keys.keys.is_empty() {
        builder.names(entity);
    }
    builder.targets();
    builder.crossings(crossed(entity), counted(entity));
    builder.keys
}

/// The keys of an entity while its lines are resolved.
struct KeysBuilder {
    schema: Schema,
    ordered_by: &'static str,
    keys: Keys,
    /// Path and target of each end, so that the posting lists and the order of one path share an
    /// end.
    paths: Vec<(Vec<usize>, PathTarget)>,
}

impl KeysBuilder {
    fn key(&mut self, line: &Line) -> Key {
        match line.aspect {
            Aspect::Citations(direction) => return self.citations(line, direction),
            Aspect::ReferenceCount => return self.reference_count(line),
            Aspect::Versions => return self.versions(line),
            Aspect::Texts(fields) => {
                let filter = Some(Index::FullText(fields));
                return Key {
                    name: line.name,
                    kind: Kind::Search,
                    is_many: true,
                    filter,
                    sort: None,
                };
            }
            _ => {}
        }
        let Some(end) = find_path(&self.schema, line.path) else {
            panic!("the key `{}` names no member `{}`", line.name, line.path);
        };
        let kind = kind_of(line, &end);
        let order = values_of(&end).filter(|_| !end.is_many);
        let filter = line.filter.then(|| self.filter(line, &end, kind));
        let is_read = line.is_unordered || line.aspect == Aspect::Scanned || end.is_many;
        let sort = line.sort.then_some(()).filter(|()| !is_read).map(|()| match order {
            Some(values) => self.order(line.path, &end, values),
            None => panic!("the key `{}` has no values to sort by", line.name),
        });
        if line.sort && is_read {
            let place = (end.path.clone(), end.target.clone());
            let Some(at) = self.paths.iter().position(|known| *known == place) else {
                panic!("the key `{}` has no values to sort by", line.name);
            };
            self.keys.value_sorts.push((line.name, at));
        }
        Key { name: line.name, kind, is_many: end.is_many, filter, sort }
    }

    fn citations(&self, line: &Line, direction: Direction) -> Key {
        self.of_records(line, Index::Citations(direction))
    }

    /// A key whose values are records of the same entity, and no member.
    fn of_records(&self, line: &Line, index: Index) -> Key {
        let Some(entity) = Entity::all().find(|entity| entity.facts().route == self.keys.route)
        else {
            panic!("the key `{}` is of no entity", line.name);
        };
        let (kind, filter) = (Kind::Id(entity), Some(index));
        Key { name: line.name, kind, is_many: true, filter, sort: None }
    }

    fn versions(&self, line: &Line) -> Key {
        let Some(titles) = self.keys.lists.iter().position(|lists| lists.path == line.path) else {
            panic!("the key `{}` needs the key `{}` before it", line.name, line.path);
        };
        self.of_records(line, Index::Versions { titles })
    }

    /// A key of an order whose values the citation graph holds, and no member.
    fn reference_count(&mut self, line: &Line) -> Key {
        let order = self.keys.orders.len();
        self.keys.orders.push(Order {
            path: line.path.to_owned(),
            values: Values::Integers,
            is_row_order: false,
            lists: None,
            counts_references: true,
        });
        let filter = Some(Index::Order(order));
        Key { name: line.name, kind: Kind::Integer, is_many: false, filter, sort: Some(order) }
    }

    fn filter(&mut self, line: &Line, end: &FoundPath, kind: Kind) -> Index {
        if let Aspect::Read { among } = line.aspect {
            let read = self.keys.ends.iter().filter(|end| end.read.is_some()).count();
            self.end(end).read = Some(read);
            // A query reads the values from the records that these lists find.
            let Some(among) = self.keys.lists.iter().position(|lists| lists.path == among) else {
                panic!("the key `{}` needs the key `{among}` before it", line.name);
            };
            let Schema::Reference(entity) = end.schema else {
                panic!("the key `{}` is no reference", line.name);
            };
            // Without a posting list for each value, `null` needs a list of the records that have one.
            let present = self.lists(line.path, end, Terms::Presence);
            return Index::Read { read, among, present, entity };
        }
        if matches!(line.aspect, Aspect::Scanned | Aspect::Beginning) {
            let read = self.keys.ends.iter().filter(|end| end.read.is_some()).count();
            self.end(end).read = Some(read);
            let values = match kind {
                Kind::Identifier(scheme) => ScannedValues::Beginnings(scheme),
                Kind::Integer => ScannedValues::Integers,
                Kind::Number => ScannedValues::Numbers,
                Kind::Text if matches!(end.schema, Schema::LongText) => ScannedValues::LongTexts,
                Kind::Text => ScannedValues::Texts,
                _ => panic!("the key `{}` has no values to scan for", line.name),
            };
            return Index::Scanned { read, values };
        }
        if line.aspect == Aspect::Presence {
            return Index::Presence(self.lists(line.path, end, terms_of(line, end)));
        }
        // The first arm that fits wins: words of names precede names, and names precede lists.
        match (&end.schema, &end.target, kind) {
            (Schema::Reference(entity), PathTarget::Name, Kind::Words) => {
                let of_path = |key: &&Key| key.name == line.path;
                match self.keys.keys.iter().find(of_path).and_then(|key| key.filter) {
                    Some(Index::Names { rows, named, .. }) => {
                        Index::ReferenceWords { entity: *entity, rows, named }
                    }
                    _ => panic!("the key `{}` needs the key `{}` before it", line.name, line.path),
                }
            }
            (_, _, Kind::Words) if line.path == NAME => Index::Words,
            (_, _, Kind::Words) => Index::Prefixes(self.prefixes(line.name, end)),
            (Schema::Id(_), ..) => Index::Ids,
            (Schema::Reference(entity), PathTarget::Name, _) => {
                let ids = line.path.replace(".name", ".id");
                let Some(rows) = self.keys.lists.iter().position(|lists| lists.path == ids) else {
                    panic!("the key `{}` needs the key `{ids}` before it", line.name);
                };
                let named = self.lists(line.path, end, Terms::Presence);
                Index::Names { entity: *entity, rows, named }
            }
            // An order has one value for each row, so a path with many values has posting lists.
            (_, _, Kind::Integer | Kind::Number | Kind::Day(_) | Kind::Moment(_))
                if !end.is_many && !line.is_unordered =>
            {
                match values_of(end) {
                    Some(values) => {
                        let order = self.order(line.path, end, values);
                        if line.is_listed {
                            let lists = self.lists(line.path, end, terms_of(line, end));
                            self.keys.orders[order].lists = Some(lists);
                        }
                        Index::Order(order)
                    }
                    None => panic!("the key `{}` has no values to compare", line.name),
                }
            }
            _ => Index::Lists(self.lists(line.path, end, terms_of(line, end))),
        }
    }

    /// Adds the paths of the searched names.
    fn names(&mut self, entity: Entity) {
        let others = entity.facts().other_names.iter().map(|path| (*path, NameRole::Alternative));
        for (path, names) in [(NAME, NameRole::Own)].into_iter().chain(others) {
            self.keys.names.push(path);
            let Some(end) = find_path(&self.schema, path) else {
                panic!("{entity} have no member `{path}`");
            };
            self.end(&end).names = Some(names);
        }
    }

    /// Adds the lists whose frequent terms are counted, and the orders along which they are.
    fn crossings(&mut self, lists: &[&str], orders: &[(Option<&str>, &str)]) {
        let list = |path: &&str| match self.keys.lists.iter().position(|lists| lists.path == *path)
        {
            Some(number) => number,
            None => panic!("no key filters by `{path}`"),
        };
        let order = |path: &str| match self.keys.order(path) {
            Some(number) => number,
            None => panic!("no key sorts by `{path}`"),
        };
        let crossed = lists.iter().map(list).collect();
        let counted = orders
            .iter()
            .map(|(first, path)| CountedOrder { first: first.map(order), order: order(path) })
            .collect();
        (self.keys.crossed, self.keys.counted) = (crossed, counted);
    }

    /// Marks the posting lists of ids of which there may be many: all but those of the upper levels of
    /// the taxonomy, whose few lists count groups as fast.
    fn targets(&mut self) {
        let has_many = |entity: Entity| entity.taxonomy_child().is_none();
        // Groups by what follows from several members are read from the records.
        let is_derived = |at: usize| {
            find_path(&self.schema, &self.keys.lists[at].path).is_some_and(|end| end.is_derived())
        };
        let is_id = |at: usize| {
            !is_derived(at)
                && self.keys.keys.iter().any(|key| key.filter == Some(Index::Lists(at)))
                && matches!(self.keys.lists[at].terms, Terms::Rows(entity) if has_many(entity))
        };
        self.keys.targets = (0..self.keys.lists.len()).filter(|at| is_id(*at)).collect();
    }

    /// The number of the posting lists of a path; adds them on first use.
    fn lists(&mut self, path: &str, end: &FoundPath, terms: Terms) -> usize {
        if let Some(at) = self.keys.lists.iter().position(|lists| lists.path == path) {
            return at;
        }
        let at = self.keys.lists.len();
        self.keys.lists.push(TermLists { path: path.to_owned(), terms });
        self.end(end).lists = Some(at);
        at
    }

    /// Adds the posting lists of the prefixes of words.
    fn prefixes(&mut self, name: &str, end: &FoundPath) -> usize {
        let at = self.keys.lists.len();
        self.keys.lists.push(TermLists { path: name.to_owned(), terms: Terms::Prefixes });
        self.end(end).prefixes = Some(at);
        at
    }

    /// The number of the order of a path; adds the order on first use.
    fn order(&mut self, path: &str, end: &FoundPath, values: Values) -> usize {
        if let Some(at) = self.keys.orders.iter().position(|order| order.path == path) {
            return at;
        }
        let at = self.keys.orders.len();
        let is_row_order = path == self.ordered_by;
        let path = path.to_owned();
        let order = Order { path, values, is_row_order, lists: None, counts_references: false };
        self.keys.orders.push(order);
        if values != Values::Ids {
            self.end(end).order = Some(at);
        }
        at
    }

    fn end(&mut self, end: &FoundPath) -> &mut PathUse {
        let place = (end.path.clone(), end.target.clone());
        // Lines of one path share an end, so a walk over a record meets the path once.
        if let Some(at) = self.paths.iter().position(|known| *known == place) {
            return &mut self.keys.ends[at];
        }
        self.paths.push(place);
        let at = self.keys.ends.len();
        self.keys.tree.add(&end.path, at);
        let beyond = match (&end.target, &end.schema) {
            (PathTarget::Through(path), Schema::Reference(entity)) => {
                let Some(beyond) = find_path(&schema_of(*entity), path) else {
                    panic!("{entity} have no member `{path}`");
                };
                let mut tree = PathTree::default();
                tree.add(&beyond.path, 0);
                Some((*entity, tree))
            }
            _ => None,
        };
        let target = end.target.clone();
        let end = PathUse {
            target,
            beyond,
            lists: None,
            prefixes: None,
            order: None,
            names: None,
            read: None,
        };
        self.keys.ends.push(end);
        &mut self.keys.ends[at]
    }
}

fn kind_of(line: &Line, end: &FoundPath) -> Kind {
    match line.aspect {
        Aspect::Presence => return Kind::Boolean,
        Aspect::Words => return Kind::Words,
        Aspect::From => return date_of(end, Bound::From),
        Aspect::To => return date_of(end, Bound::To),
        Aspect::Identifier | Aspect::Beginning => {
            return Kind::Identifier(Scheme::of_key(line.path));
        }
        Aspect::Texts(_) => return Kind::Search,
        Aspect::Value
        | Aspect::Scanned
        | Aspect::Citations(_)
        | Aspect::ReferenceCount
        | Aspect::Versions
        | Aspect::Read { .. } => {}
    }
    match (&end.schema, &end.target) {
        (Schema::Id(entity), _) => Kind::Id(*entity),
        (Schema::Reference(entity) | Schema::ParentReference(entity), PathTarget::Id) => {
            Kind::Id(*entity)
        }
        (Schema::Reference(_), PathTarget::Through(path)) => match end_through(end, path).schema {
            Schema::ParentReference(entity) => Kind::Id(entity),
            _ => panic!("`{}` leads through a reference to a member that is no parent", line.path),
        },
        (Schema::AnyReference, _) => Kind::AnyId,
        (Schema::OrcidUrl, _) => Kind::Identifier(Scheme::Orcid),
        (Schema::Code(_) | Schema::NamedCode(_), _) => Kind::Code,
        (Schema::Boolean, _) => Kind::Boolean,
        (Schema::Integer { .. }, _) => Kind::Integer,
        (Schema::Number, _) => Kind::Number,
        (Schema::Date | Schema::Timestamp | Schema::UtcTimestamp, _) => date_of(end, Bound::Exact),
        _ => Kind::Text,
    }
}

fn date_of(end: &FoundPath, bound: Bound) -> Kind {
    if matches!(end.schema, Schema::Date) { Kind::Day(bound) } else { Kind::Moment(bound) }
}

fn end_through(end: &FoundPath, path: &str) -> FoundPath {
    let Schema::Reference(entity) = &end.schema else {
        panic!("`{path}` leads through no reference")
    };
    let Some(found) = find_path(&schema_of(*entity), path) else {
        panic!("{entity} have no member `{path}`");
    };
    found
}

fn terms_of(line: &Line, end: &FoundPath) -> Terms {
    match (&end.schema, &end.target) {
        (Schema::Reference(_), PathTarget::Through(path)) => match end_through(end, path).schema {
            Schema::ParentReference(entity) => Terms::Rows(entity),
            _ => Terms::Presence,
        },
        (Schema::Reference(entity) | Schema::ParentReference(entity), _) => Terms::Rows(*entity),
        (Schema::AnyReference, _) => Terms::AnyRows,
        (Schema::OrcidUrl, _) => Terms::Identifiers(Scheme::Orcid),
        (Schema::Code(_) | Schema::NamedCode(_), _) => Terms::Codes,
        (Schema::Boolean | Schema::Integer { .. }, _) => Terms::Values,
        (Schema::Text, _) => match kind_of(line, end) {
            Kind::Identifier(scheme) => Terms::Identifiers(scheme),
            _ => Terms::Texts,
        },
        _ => Terms::Presence,
    }
}

fn values_of(end: &FoundPath) -> Option<Values> {
    match &end.schema {
        Schema::Id(_) => Some(Values::Ids),
        Schema::Integer { .. } => Some(Values::Integers),
        Schema::Number => Some(Values::Numbers),
        Schema::Date => Some(Values::Days),
        Schema::Timestamp | Schema::UtcTimestamp => Some(Values::Moments),
        Schema::Text => Some(Values::Texts),
        Schema::Code(_) => Some(Values::Codes),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::schema::keys::keys_of;

    #[test]
    fn keys_take_their_types_from_the_declarations() {
        let check = |entity: Entity, name: &str, kind: Kind, is_many: bool| {
            let (key, _) = keys_of(entity).filter(name).unwrap();
            assert_eq!((key.kind, key.is_many), (kind, is_many), "{entity} {name}");
        };
        check(Entity::Output, "id", Kind::Id(Entity::Output), false);
        check(Entity::Output, "year", Kind::Integer, false);
        check(Entity::Output, "fwci", Kind::Number, false);
        check(Entity::Output, "doi", Kind::Identifier(Scheme::Doi), false);
        check(Entity::Output, "authors.orcid", Kind::Identifier(Scheme::Orcid), true);
        check(Entity::Output, "authors.id", Kind::Id(Entity::Author), true);
        check(Entity::Output, "authors.name", Kind::Text, true);
        check(Entity::Output, "primary_topic.domain.id", Kind::Id(Entity::Domain), false);
        check(Entity::Output, "has_abstract", Kind::Boolean, false);
        check(Entity::Output, "to_date", Kind::Day(Bound::To), false);
        check(Entity::Author, "orcid", Kind::Identifier(Scheme::Orcid), false);
        check(Entity::Institution, "roles.id", Kind::AnyId, true);
        check(Entity::Funder, "ids.ror", Kind::Identifier(Scheme::Ror), false);
    }

    #[test]
    fn every_key_has_an_index_and_every_index_has_values() {
        for entity in Entity::all() {
            let keys = keys_of(entity);
            for key in &keys.keys {
                assert!(key.filter.is_some() || key.sort.is_some(), "{}", key.name);
            }
            for (at, lists) in keys.lists.iter().enumerate() {
                let is_of = |end: &PathUse| [end.lists, end.prefixes].contains(&Some(at));
                let has_values = keys.ends.iter().any(is_of);
                assert!(has_values || keys.is_unresolved(at), "{entity} {}", lists.path);
            }
            for (at, order) in keys.orders.iter().enumerate() {
                let has_values = keys.ends.iter().any(|end| end.order == Some(at));
                let is_of_no_member = order.values == Values::Ids || order.counts_references;
                assert!(has_values || is_of_no_member, "{entity} {}", order.path);
            }
        }
    }
}
