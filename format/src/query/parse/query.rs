//! A list query, parsed from the text of its parameters.

use std::{num::NonZeroU32, sync::Arc};

use crate::entity::Entity;
use crate::query::parse::error::{ParamError, unknown_filter_key};
use crate::query::parse::filter::{
    EXPRESSIONS_MAX, Expression, SEARCHED, full_text_search, parse_filter, parse_search,
};
use crate::query::parse::grammar::trim;
use crate::query::parse::grouping::Grouping;
use crate::query::parse::identifier::{Identifier, SearchedIdentifier};
use crate::query::parse::operand::Operand;
use crate::query::parse::sample::Sample;
use crate::query::parse::search::{Search, SyntaxError};
use crate::query::parse::select::parse_select;
use crate::query::parse::sort::{SortKey, ValueSort, parse_sort};
use crate::query::parse::statistics_keys::StatisticsKeys;
use crate::record::{LegacyEntity, Members, View};
use crate::schema::{Direction, Index, Keys, keys_of, keys_of_legacy, keys_of_openalex};
use crate::text::fold::fold;

/// The name of the ids that a record refers to, beside its members.
pub const REFERENCES: &str = "references";

/// The page sizes a client can choose.
pub const PAGE_SIZES: [u32; 4] = [10, 25, 50, 100];
/// The page size of a query that names none.
pub const PAGE_SIZE_DEFAULT: u32 = 25;

/// A checked query for one page of a list.
#[derive(Clone, Debug)]
pub struct Query {
    /// The entity whose records are listed.
    pub entity: Entity,
    /// The keys by which records can be filtered and sorted.
    pub keys: &'static Keys,
    /// Expressions that must all be true of a record.
    pub filter: Vec<Expression>,
    /// Sort keys; ids break ties. Empty for the row order, or for the order by relevance or by names of a search.
    pub sort: Vec<SortKey>,
    /// The number of sort keys before relevance; `None` for a sort that does not name relevance.
    pub relevance: Option<usize>,
    /// A sort key whose values are read from the records.
    pub by_values: Option<ValueSort>,
    /// Page number, from 1.
    pub page: NonZeroU32,
    /// Records a page.
    pub per_page: u32,
    /// What the query finds.
    pub result_kind: ResultKind,
    /// The folded text of a search of names, in whose order a list without a sort is.
    pub searched_name: Option<String>,
    /// A random sample takes the place of the matching records.
    pub sample: Option<Sample>,
    /// Of the matching versions of a work, only the first in row order is found.
    pub one_of_versions: bool,
    /// The members to show; `None` for all of them.
    pub select: Option<Members>,
    /// Whether the ids that a record refers to follow its members.
    pub selects_references: bool,
}

/// What a query finds of the matching records.
#[derive(Clone, Debug)]
pub enum ResultKind {
    /// A page of them.
    List,
    /// A page of their groups.
    Groups(Grouping),
    /// Their statistics, by these keys.
    Statistics(StatisticsKeys),
}

impl Query {
    /// Creates a query for the first page of all records of an entity.
    pub fn new(entity: Entity) -> Query {
        Query {
            entity,
            keys: keys_of(entity),
            filter: Vec::new(),
            sort: Vec::new(),
            relevance: None,
            by_values: None,
            searched_name: None,
            page: NonZeroU32::MIN,
            per_page: PAGE_SIZE_DEFAULT,
            result_kind: ResultKind::List,
            sample: None,
            one_of_versions: false,
            select: None,
            selects_references: false,
        }
    }

    /// Creates a query for the first page of a list of the legacy interface.
    pub fn legacy(legacy: &LegacyEntity) -> Query {
        Query { keys: keys_of_legacy(legacy), ..Query::new(legacy.entity) }
    }

    /// Creates a query for the first page of a list in OpenAlex's dialect.
    pub fn openalex(entity: Entity) -> Query {
        Query { keys: keys_of_openalex(entity), ..Query::new(entity) }
    }

    /// The position of the page's first row among all matching rows, from 0.
    pub fn first_position(&self) -> u64 {
        u64::from(self.page.get() - 1) * u64::from(self.per_page)
    }

    /// Parses a filter and adds its expressions.
    ///
    /// # Errors
    ///
    /// One error for each wrong expression, at most 10.
    pub fn add_filter(&mut self, text: &str) -> Result<(), Vec<ParamError>> {
        self.filter.extend(parse_filter(self.keys, text)?);
        self.check_expressions(text)
    }

    /// Adds a full-text search for `text` if the list has one, else a `name.search` expression for its words. Commas, quotes and other characters
    /// of the filter grammar have no meaning in `text`.
    ///
    /// # Errors
    ///
    /// If the list takes no filter, or the text holds a control character.
    pub fn add_search(&mut self, text: &str) -> Result<(), Vec<ParamError>> {
        let search = match full_text_search(self.keys, text, false)? {
            Some(search) => search,
            None => {
                self.searched_name = Some(fold(text)).filter(|folded| !folded.is_empty());
                parse_search(self.keys, text)?
            }
        };
        self.filter.push(search);
        self.check_expressions(text)
    }

    /// Adds a full-text search whose words are compared as they are written.
    ///
    /// # Errors
    ///
    /// If the list has no full-text search, or the text breaks the syntax of searches.
    pub fn add_exact_search(&mut self, text: &str) -> Result<(), Vec<ParamError>> {
        let reason = "is no parameter of this list: only outputs have a full-text search";
        let search = full_text_search(self.keys, text, true)?;
        self.filter.push(search.ok_or_else(|| vec![ParamError::new("search.exact", reason)])?);
        self.check_expressions(text)
    }

    /// Adds a full-text search in the fields of a key, with the words as they are written if it is exact.
    ///
    /// # Errors
    ///
    /// If the list has no such key, or the text breaks the syntax of searches.
    pub fn add_search_in(
        &mut self,
        key: &str,
        text: &str,
        is_exact: bool,
    ) -> Result<(), Vec<ParamError>> {
        let found = self.keys.filter(key);
        let Some((key, index @ Index::FullText(fields))) = found else {
            return Err(vec![unknown_filter_key(self.keys, key)]);
        };
        let search = Search::parse_in(text, is_exact, fields).map_err(
            |SyntaxError { position, reason }| {
                vec![ParamError::new(text, format!("at byte {position}: {reason}"))]
            },
        )?;
        let operands = vec![Operand::Search(Arc::new(search))];
        let text = format!("{}:{text}", key.name);
        self.filter.push(Expression { key, index, is_negated: false, operands, text });
        self.check_expressions(key.name)
    }

    /// Makes all words of all searches required. Tells whether one of the searches would else list records with most words.
    pub fn require_all_words(&mut self) -> bool {
        let mut is_narrower = false;
        for operand in self.filter.iter_mut().flat_map(|expression| &mut expression.operands) {
            if let Operand::Search(search) = operand {
                is_narrower |= search.is_plain;
                Arc::make_mut(search).requires_all = true;
            }
        }
        is_narrower
    }

    /// Makes the first full-text search of the filter the search that the list is ordered by, if the query has no other.
    pub fn rank_by_filter(&mut self) {
        if self.is_searched() {
            return;
        }
        let mut expressions = self.filter.iter_mut().filter(|expression| !expression.is_negated);
        let found =
            expressions.find(|expression| matches!(expression.operands[..], [Operand::Search(_)]));
        if let Some(expression) = found {
            expression.text = format!("{SEARCHED}{}", expression.text);
        }
    }

    /// The full-text search of the query, which its list is ordered by if the query has no sort.
    pub fn search(&self) -> Option<&Arc<Search>> {
        let mut searches = self.filter.iter().filter(|expression| expression.searched().is_some());
        searches.find_map(|expression| match expression.operands.as_slice() {
            [Operand::Search(search)] => Some(search),
            _ => None,
        })
    }

    /// Whether the query has a search. The search may be the id of a record, which has no relevance.
    pub fn is_searched(&self) -> bool {
        self.filter.iter().any(|expression| expression.searched().is_some())
    }

    /// The text of the list's search; `None` for a list without one.
    pub fn searched_text(&self) -> Option<&str> {
        self.filter.iter().find_map(Expression::searched)
    }

    /// The identifier that a search of texts is as a whole; `None` for other searches.
    pub(in crate::query) fn searched_identifier(&self) -> Option<SearchedIdentifier> {
        let is_words =
            |expression: &Expression| matches!(expression.operands[..], [Operand::Search(_)]);
        let mut searches = self.filter.iter().filter(|expression| !is_words(expression));
        let text = searches.find_map(Expression::searched)?;
        let identifier = self.keys.has_full_text().then(|| Identifier::parse(text))?;
        identifier.map(Identifier::searched)
    }

    /// Whether the list is ordered by relevance, and by no other key.
    pub fn is_by_relevance(&self) -> bool {
        let is_sorted = !self.sort.is_empty() || self.by_values.is_some();
        !is_sorted && self.sample.is_none() && self.search().is_some()
    }

    /// Whether the records of the list have scores: relevance is its order, or one of its sort keys.
    pub fn has_scores(&self) -> bool {
        let is_key = self.relevance.is_some() && self.sample.is_none() && self.search().is_some();
        is_key || self.is_by_relevance()
    }

    /// The query without the search that its list is ordered by.
    pub(in crate::query) fn without_search(&self) -> Query {
        let filter = self.filter.iter().filter(|expression| {
            !matches!(
                (expression.searched(), expression.operands.as_slice()),
                (Some(_), [Operand::Search(_)])
            )
        });
        Query { filter: filter.cloned().collect(), ..self.clone() }
    }

    /// Keeps only the records that the record with an id leads to in a direction of the citation graph.
    /// Has no effect where the entity has no such graph.
    pub fn follow(&mut self, direction: Direction, id: u64) {
        let index = Index::Citations(direction);
        let Some(key) = self.keys.keys.iter().find(|key| key.filter == Some(index)) else { return };
        let operands = vec![Operand::Record(self.entity, id)];
        let text = format!("{} of {id}", direction.name());
        self.filter.push(Expression { key, index, is_negated: false, operands, text });
    }

    /// Parses the sort keys and replaces earlier ones: of groups, if the query counts groups.
    ///
    /// # Errors
    ///
    /// One error for each wrong key.
    pub fn set_sort(&mut self, text: &str) -> Result<(), Vec<ParamError>> {
        if let ResultKind::Groups(grouping) = &mut self.result_kind
            && grouping.is_sorted()
        {
            return grouping.set_sort(text);
        }
        let parsed = parse_sort(self.keys, text)?;
        (self.sort, self.relevance) = (parsed.keys, parsed.relevance);
        self.by_values = parsed.by_values;
        Ok(())
    }

    /// Parses the members to show of the records of a list.
    ///
    /// # Errors
    ///
    /// One error for each wrong member, at most 10.
    pub fn set_select(&mut self, text: &str) -> Result<(), Vec<ParamError>> {
        self.select = Some(parse_select(self.entity, View::List, text)?);
        Ok(())
    }

    /// Parses the members to show of the records of a stream, and `references`, the ids that a record refers to.
    /// If lists lack a member, the records have the shape of single records.
    ///
    /// # Errors
    ///
    /// One error for each wrong member, at most 10.
    pub fn set_stream_select(&mut self, text: &str) -> Result<(), Vec<ParamError>> {
        let (members, references) = split_references(self.keys, text);
        self.selects_references = references > 0;
        if references > 1 {
            let reason = "is selected a second time; name it once";
            return Err(vec![ParamError::new(REFERENCES, reason)]);
        }
        self.select = Some(match &*members {
            "" if references > 0 => Members::all(self.entity, View::List).select(&[]),
            members => match parse_select(self.entity, View::List, members) {
                Ok(members) => members,
                Err(_) => parse_select(self.entity, View::Single, members)?,
            },
        });
        Ok(())
    }

    /// Whether a stream shows what lists do not.
    pub fn selects_single(&self) -> bool {
        let is_single = |members: &Members| members.view() != View::List;
        self.selects_references || self.select.as_ref().is_some_and(is_single)
    }

    /// Parses the keys that groups are counted by, and makes the query count them.
    ///
    /// # Errors
    ///
    /// One error for each key that does not group.
    pub fn set_group_by(&mut self, text: &str) -> Result<(), Vec<ParamError>> {
        self.result_kind = ResultKind::Groups(Grouping::parse(self.keys, text)?);
        Ok(())
    }

    /// Parses the key that a legacy list groups by: the largest groups are one page.
    ///
    /// # Errors
    ///
    /// If the list has no such groups.
    pub fn set_legacy_group_by(&mut self, text: &str) -> Result<(), Vec<ParamError>> {
        self.result_kind = ResultKind::Groups(Grouping::parse_legacy(self.keys, text)?);
        Ok(())
    }

    /// Parses the keys of statistics, and replaces earlier ones: of groups, if the query counts groups.
    ///
    /// # Errors
    ///
    /// One error for each key without numbers.
    pub fn set_statistics(&mut self, text: &str) -> Result<(), Vec<ParamError>> {
        match &mut self.result_kind {
            ResultKind::Groups(grouping) => grouping.set_of(self.keys, text)?,
            _ => {
                self.result_kind = ResultKind::Statistics(StatisticsKeys::parse(self.keys, text)?);
            }
        }
        Ok(())
    }

    /// Makes the query sum up the matching records, by the key that most requests ask for.
    pub fn sum_up(&mut self) {
        self.result_kind = ResultKind::Statistics(StatisticsKeys::default_of(self.keys));
    }

    fn check_expressions(&self, text: &str) -> Result<(), Vec<ParamError>> {
        if self.filter.len() <= EXPRESSIONS_MAX {
            return Ok(());
        }
        let reason = format!("makes more than {EXPRESSIONS_MAX} expressions, searches among them");
        Err(vec![ParamError::new(text, reason)])
    }
}

/// Takes the name of references out of members, and counts it.
fn split_references(keys: &Keys, text: &str) -> (String, usize) {
    let is_references = |name: &&str| trim(name) == REFERENCES && keys.has_citations();
    let members: Vec<&str> = text.split(',').filter(|name| !is_references(name)).collect();
    (members.join(","), text.split(',').filter(is_references).count())
}
