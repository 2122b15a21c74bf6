//! The routes: one for each path of a table of endpoints, and for each list that the path stands for.

use std::{borrow::Cow, collections::HashMap};

use pinakes_format::entity::CATALOG;
use pinakes_format::record::LEGACY;

use crate::define::endpoint::{Endpoint, Lists};
use crate::define::path::{RoutePath, Subject};
use crate::request::path::{SEGMENTS_MAX, Segment, decode, segments};

/// The part of a path that stands for a list.
const LIST: &str = "{list}";

/// A path of the interface, and the row of the table that answers it.
#[derive(Debug)]
pub struct Route {
    /// The row of the table.
    pub endpoint: &'static Endpoint,
    /// The path, and the list that it is of.
    pub path: RoutePath,
    segments: Vec<SegmentPattern>,
    number: usize,
}

/// The segments of a request that fit one segment of a route.
#[derive(Debug)]
enum SegmentPattern {
    Text(String),
    Any,
    /// A segment with a dot.
    File,
    /// The rest of the path, with its slashes.
    Rest,
}

/// A request's route.
#[derive(Clone, Copy, Debug)]
pub struct Matched {
    /// The row of the table, for the list that the path names.
    pub route: &'static Route,
    /// The segment that the client chose, such as an identifier; empty if the route has none.
    pub segment: Segment,
}

/// All routes, by number, and the routes that begin with a segment.
#[derive(Debug)]
pub struct Routes {
    all: Vec<Route>,
    by_first: HashMap<String, Vec<usize>>,
}

impl Routes {
    /// The routes of a table. Of two paths that fit a request, the first counts.
    pub fn new(endpoints: &'static [Endpoint]) -> Routes {
        let mut all = Vec::new();
        let mut rows = endpoints.iter().peekable();
        while let Some(endpoint) = rows.next() {
            // Rows whose paths begin alike with a list stand together for each list, as in the document.
            let beginning = endpoint.path.split_inclusive(LIST).next().unwrap_or_default();
            let is_alike =
                |next: &&Endpoint| endpoint.path.contains(LIST) && next.path.starts_with(beginning);
            let mut alike = vec![endpoint];
            while let Some(next) = rows.next_if(is_alike) {
                alike.push(next);
            }
            for subject in subjects(endpoint.lists) {
                for endpoint in alike.iter().filter(|of| is_of(subject, of.lists)) {
                    all.push(Route::new(endpoint, subject, all.len()));
                }
            }
        }
        let mut by_first: HashMap<String, Vec<usize>> = HashMap::new();
        for route in &all {
            let first = match route.segments.first() {
                Some(SegmentPattern::Text(first)) => first.clone(),
                _ => String::new(),
            };
            by_first.entry(first).or_default().push(route.number);
        }
        Routes { all, by_first }
    }

    /// All routes, by number.
    pub fn all(&self) -> &[Route] {
        &self.all
    }

    /// Finds the route of a path by its segments, or else by its beginning; `None` for an unknown path.
    ///
    /// Cost: allocates only to decode a percent escape.
    pub fn find(&'static self, path: &str) -> Option<Matched> {
        self.find_by_segments(path).or_else(|| self.find_by_beginning(path))
    }

    /// Finds the route whose one segment is followed by an identifier, which may contain slashes.
    fn find_by_beginning(&'static self, path: &str) -> Option<Matched> {
        let (first, _) = path.strip_prefix('/')?.split_once('/')?;
        let segment = Segment::rest_of(path, first.len() + 2);
        let numbers = self.by_first.get(&*decode(first)?)?;
        let mut routes = numbers.iter().map(|number| &self.all[*number]);
        let route = routes.find(|route| matches!(route.segments[..], [_, SegmentPattern::Rest]))?;
        (!segment.text_in(path).is_empty()).then_some(Matched { route, segment })
    }

    fn find_by_segments(&'static self, path: &str) -> Option<Matched> {
        let segments = segments(path)?;
        let mut names: [Cow<'_, str>; SEGMENTS_MAX] = Default::default();
        for (name, segment) in names.iter_mut().zip(segments.iter()) {
            *name = decode(segment).unwrap_or_default();
        }
        let names = names.each_ref().map(|name| &**name);
        let names = &names[..segments.len()];
        let numbers = self.by_first.get(names.first().copied().unwrap_or_default())?;
        numbers.iter().find_map(|number| self.all[*number].matches(names, path))
    }

    /// The route of `row` for the list that a path begins with, and the rest of the path in place of its segment.
    pub fn find_rest(&'static self, row: &Endpoint, path: &str) -> Option<Matched> {
        self.all.iter().filter(|route| route.endpoint.path == row.path).find_map(|route| {
            let Subject::Entity(facts) = route.path.subject else { return None };
            let rest = path.strip_prefix('/')?.strip_prefix(facts.route)?.strip_prefix('/')?;
            let segment = Segment::rest_of(path, path.len() - rest.len());
            Some(Matched { route, segment })
        })
    }
}

/// Every list that a path may stand for.
fn subjects(lists: Lists) -> Vec<Subject> {
    match lists {
        Lists::None => vec![Subject::None],
        Lists::Of(_) => CATALOG.iter().map(Subject::Entity).collect(),
        Lists::Legacy => LEGACY.iter().map(Subject::Legacy).collect(),
    }
}

/// Whether a path of the table stands for a list.
fn is_of(subject: Subject, lists: Lists) -> bool {
    match (subject, lists) {
        (Subject::None, Lists::None) | (Subject::Legacy(_), Lists::Legacy) => true,
        (Subject::Entity(facts), Lists::Of(has)) => has(facts),
        _ => false,
    }
}

impl Route {
    fn new(endpoint: &'static Endpoint, subject: Subject, number: usize) -> Route {
        let path = endpoint.path.replace(LIST, subject.list());
        let inner = path.split('/').filter(|segment| !segment.is_empty());
        let segments = inner
            .map(|segment| match segment {
                "{file}" => SegmentPattern::File,
                "{identifier}" => SegmentPattern::Rest,
                name if name.starts_with('{') => SegmentPattern::Any,
                text => SegmentPattern::Text(text.to_owned()),
            })
            .collect();
        Route { endpoint, path: RoutePath { subject, path }, segments, number }
    }

    /// The index of the route among all.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The label in metrics.
    pub fn label(&self) -> &str {
        self.endpoint.label.unwrap_or(&self.path.path)
    }

    /// Matches the decoded segments of a path.
    fn matches(&'static self, names: &[&str], path: &str) -> Option<Matched> {
        if names.len() != self.segments.len() {
            return None;
        }
        let mut segment = Segment::default();
        for (at, (name, pattern)) in names.iter().zip(&self.segments).enumerate() {
            match pattern {
                SegmentPattern::Text(text) if text == name => continue,
                SegmentPattern::File if !name.contains('.') => return None,
                // Only paths that are split first fit the rest of a path.
                SegmentPattern::Text(_) | SegmentPattern::Rest => return None,
                SegmentPattern::Any | SegmentPattern::File => segment = Segment::nth_in(path, at),
            }
        }
        Some(Matched { route: self, segment })
    }
}
