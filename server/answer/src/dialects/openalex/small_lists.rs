//! The small lists of OpenAlex: kinds, codes and keywords, as the values that records have, with counts.
//!
//! ```text
//! /openalex/types               the groups of works by `type`
//! /openalex/types/article       the group of one value
//! ```

use pinakes_format::query::{Group, Grouping, Groups, Query, ResultKind};
use pinakes_format::storage::ReadError;
use serde_json::{Map, Value, json};

use crate::define::{Answer, Call, Cost, Failure, Planned};
use crate::dialects::openalex::errors::absent;
use crate::dialects::openalex::filter_text::code_of;
use crate::dialects::openalex::names::{List, SmallList};
use crate::dialects::openalex::page::{Place, meta, named_groups};
use crate::dialects::openalex::query::Request;
use crate::dialects::openalex::small_filter::EntryFilter;
use crate::dialects::openalex::values::{ADDRESS, API};
use crate::list::groups::count_groups;
use crate::reply::{Detail, Reply};
use crate::request::parameters::{encoded, query_pairs};
use crate::request::path::{decode, echo};

/// The parameters of a small list.
const PARAMETERS: [&str; 8] =
    ["filter", "search", "page", "per_page", "per-page", "cursor", "sort", "select"];
/// The size of a page of OpenAlex's lists.
const PER_PAGE: &str = "25";
/// The most groups of a page.
const PER_PAGE_MAX: &str = "200";

impl SmallList {
    fn request(&self, query: &str, call: &Call<'_>) -> Result<(&'static List, Request), Reply> {
        let list = List::named(self.list).ok_or_else(|| absent("The list is not known"))?;
        let query = format!("group_by={}&{query}", self.key);
        let request = Request::parse(list, &query, call.snapshot).map_err(Reply::bad_query)?;
        Ok((list, request))
    }

    /// Plans a page of the list.
    pub fn plan(&'static self, call: &Call<'_>) -> Result<Planned, Reply> {
        let mut query = vec![format!("per_page={PER_PAGE}")];
        let (mut selected, mut filter) = (Vec::new(), EntryFilter::default());
        for pair in query_pairs(call.query) {
            let (name, value) = pair.map_err(|detail| Reply::bad_query(vec![detail]))?;
            if !PARAMETERS.contains(&&*name) {
                let reason =
                    format!("is no parameter of this list, which has {}", PARAMETERS.join(", "));
                return Err(Reply::bad_query(vec![Detail::new(&name, &value, reason)]));
            }
            match &*name {
                _ if value.trim().is_empty() => {}
                "filter" => {
                    filter.add_filter(&value, &self.count()).map_err(Reply::bad_query)?;
                }
                "search" => filter.add_search(&value),
                "select" => selected = self.select(&value)?,
                "sort" => query.push(format!("sort={}", encoded(&self.order(&value)))),
                "per_page" | "per-page" => query[0] = format!("per_page={}", encoded(&value)),
                name => query.push(format!("{name}={}", encoded(&value))),
            }
        }
        let (_, request) = self.request(&query.join("&"), call)?;
        Ok(Planned::work(Cost::Large, move |call| self.page(&request, &filter, &selected, call)))
    }

    /// Plans the record of one value.
    pub fn plan_one(&'static self, raw: &str, call: &Call<'_>) -> Result<Planned, Reply> {
        let decoded = decode(raw).unwrap_or_default();
        let value = code_of(&decoded).to_owned();
        let filter = encoded(&format!("{}:{value}", self.key));
        let (_, request) =
            self.request(&format!("filter={filter}&per_page={PER_PAGE_MAX}"), call)?;
        Ok(Planned::unless_current(call, Cost::Large, move |call| {
            let (_, found) = self.entries(&request, &EntryFilter::default(), call)?;
            let is_meant = |entry: &&Value| {
                let id = entry["id"].as_str().unwrap_or_default();
                id.rsplit('/').next().is_some_and(|id| id.eq_ignore_ascii_case(&value))
            };
            Ok(match found.iter().find(is_meant) {
                Some(entry) => Reply::json(entry.to_string()),
                None => absent(format!("No record has `{}` of {}", echo(&value), self.name)),
            })
        }))
    }

    /// The member with the number of records.
    fn count(&self) -> String {
        format!("{}_count", self.list)
    }

    /// The members of an entry.
    fn members(&self) -> [String; 4] {
        ["id".into(), "display_name".into(), self.count(), format!("{}_api_url", self.list)]
    }

    fn select(&self, text: &str) -> Result<Vec<String>, Reply> {
        let members = self.members();
        let selected: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
        match selected.iter().find(|name| !members.contains(name)) {
            None => Ok(selected),
            Some(unknown) => {
                let reason = format!("is no member of this list, which has {}", members.join(", "));
                Err(Reply::bad_query(vec![Detail::new("select", unknown, reason)]))
            }
        }
    }

    /// An order of entries as the order of groups.
    fn order(&self, text: &str) -> String {
        let [_, name, count, _] = self.members();
        text.replace(&count, "count").replace(&name, "key")
    }

    fn page(
        &self,
        request: &Request,
        filter: &EntryFilter,
        selected: &[String],
        call: &Call<'_>,
    ) -> Answer {
        let (meta, mut entries) = self.entries(request, filter, call)?;
        if !selected.is_empty() {
            for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
                entry.retain(|name, _| selected.contains(name));
            }
        }
        let body = json!({ "meta": meta, "results": entries, "group_by": [] });
        Ok(Reply::json(body.to_string()).uncached())
    }

    /// The summary of a page, and its values, each as a record. With a filter, the values of all pages are made.
    fn entries(
        &self,
        request: &Request,
        filter: &EntryFilter,
        call: &Call<'_>,
    ) -> Result<(Value, Vec<Value>), Failure> {
        let begun = call.now();
        let query = request.resolved(call.snapshot)?;
        let ResultKind::Groups(grouping) = &query.result_kind else {
            return Ok((Value::Null, Vec::new()));
        };
        let groups = match filter.is_empty() {
            true => count_groups(&query, grouping, call)?,
            false => all_groups(&query, grouping, call)?,
        };
        let entry = |(key, name, count): (String, String, u64)| self.entry(&key, &name, count);
        let named = named_groups(&groups, request, call.snapshot)?.into_iter();
        let mut entries: Vec<Value> = named.map(entry).collect();
        let mut total = groups.total;
        if !filter.is_empty() {
            entries.retain(|entry| filter.holds(entry, &self.count()));
            total = entries.len() as u64;
            let on_page = entries.into_iter().skip(query.first_position() as usize);
            entries = on_page.take(query.per_page as usize).collect();
        }
        let place = Place { begun, count: total, on_page: entries.len(), groups: Some(total) };
        let mut meta = meta(request, &query, &place, call);
        meta["groups_count"] = Value::Null;
        Ok((meta, entries))
    }

    fn entry(&self, key: &str, name: &str, count: u64) -> Value {
        let bare = key.rsplit('/').next().unwrap_or_default();
        let id = match key.starts_with("https://") {
            true => key.to_owned(),
            false => format!("{ADDRESS}{}/{bare}", self.name),
        };
        let address = format!("{API}/{}?filter={}:{bare}", self.list, self.key);
        let values = [id.into(), name.into(), count.into(), address.into()];
        self.members().into_iter().zip(values).collect::<Map<String, Value>>().into()
    }
}

/// Counts the groups of all pages.
fn all_groups(query: &Query, grouping: &Grouping, call: &Call<'_>) -> Result<Groups, Failure> {
    let limits = call.limits();
    let time = limits.time();
    let all = limits.run(|deadline| query.all_groups(grouping, call.snapshot, deadline, time))?;
    let groups =
        (0..all.len()).map(|at| call.snapshot.or_noted(all.group(at, call.snapshot).map(Some)));
    let page: Result<Vec<Option<Group>>, ReadError> = groups.collect();
    let total = all.len() as u64;
    Ok(Groups { count: total, total, page: page?.into_iter().flatten().collect() })
}
