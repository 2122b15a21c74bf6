//! The class of an open snapshot.

use std::ffi::CString;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, header};
use pinakes_answer::parts::parse_list_query;
use pinakes_format::entity::Entity;
use pinakes_format::matching::Question;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::calls::{run, wait};
use crate::columns::Columns;
use crate::errors::Raised;
use crate::host::{Answered, Asking};
use crate::matches::{Matches, Parts};
use crate::opened::{Opened, Published};
use crate::pieces::{Body, Pieces};

/// Names and values of headers.
type Pairs = Vec<(String, String)>;

/// Status, headers and body.
type WholeReply<'py> = (u16, Pairs, Bound<'py, PyBytes>);

/// A snapshot that Python programs ask, until they close it.
#[pyclass(frozen)]
pub struct Snapshot {
    opened: RwLock<Option<Arc<Opened>>>,
}

impl Snapshot {
    fn new(opened: Opened) -> Snapshot {
        Snapshot { opened: RwLock::new(Some(Arc::new(opened))) }
    }

    fn opened(&self) -> Result<Arc<Opened>, Raised> {
        let opened = self.opened.read().unwrap_or_else(PoisonError::into_inner);
        let opened = opened.clone().ok_or(Raised::Closed)?;
        opened.check_process()?;
        Ok(opened)
    }

    /// Answers a request, whose body may come in pieces.
    fn ask(
        &self,
        py: Python<'_>,
        asking: Asking,
    ) -> PyResult<(Response<Bytes>, Option<Arc<Body>>)> {
        let opened = self.opened()?;
        let asked = Arc::clone(&opened);
        let Answered { response, pieces } = run(py, &opened, move || asked.answer(&asking))?;
        Ok((response, pieces.map(|pieces| Body::new(opened, pieces))))
    }
}

#[pymethods]
impl Snapshot {
    /// Opens a snapshot, or the current one of a directory of snapshots.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Snapshot> {
        Ok(Snapshot::new(py.detach(|| Opened::open(&path))?))
    }

    /// Opens the snapshot that a host publishes. A directory keeps the chunks that are read.
    #[staticmethod]
    fn open_published(
        py: Python<'_>,
        url: String,
        directory: Option<PathBuf>,
        keys: Vec<PathBuf>,
        tls_ca: Option<PathBuf>,
    ) -> PyResult<Snapshot> {
        let from = Published { url, keys, tls_ca };
        let open = move || Opened::open_published(directory.as_deref(), &from);
        let opened = py.detach(|| wait(open))??;
        if let Some(warning) = opened.warning() {
            let warning = CString::new(warning)?;
            PyErr::warn(py, &py.get_type::<PyUserWarning>(), &warning, 2)?;
        }
        Ok(Snapshot::new(opened))
    }

    /// The id of the snapshot.
    #[getter]
    fn id(&self) -> PyResult<String> {
        Ok(self.opened()?.served.id().to_owned())
    }

    /// The directory of the snapshot.
    #[getter]
    fn path(&self) -> PyResult<PathBuf> {
        Ok(self.opened()?.served.snapshot.path().to_owned())
    }

    /// Whether the snapshot was closed.
    #[getter]
    fn is_closed(&self) -> bool {
        self.opened.read().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// The number of records of an entity.
    fn records(&self, entity: &str) -> PyResult<u64> {
        Ok(self.opened()?.served.snapshot.count(entity_of(entity)?).into())
    }

    /// Lets go of the snapshot. Streams and columns that read from it keep its files open.
    fn close(&self, py: Python<'_>) {
        // Unmapping a large snapshot takes time.
        py.detach(|| drop(self.opened.write().unwrap_or_else(PoisonError::into_inner).take()));
    }

    /// Answers a request: status, headers and the whole body. Without a body it is a GET, else a POST.
    fn answer<'py>(
        &self,
        py: Python<'py>,
        target: String,
        given: Pairs,
        body: Option<Vec<u8>>,
    ) -> PyResult<WholeReply<'py>> {
        let method = if body.is_some() { Method::POST } else { Method::GET };
        let headers = headers(&given)?;
        let body = body.unwrap_or_default();
        let asking = Asking { method, target, is_limited: true, headers, body };
        let (response, pieces) = self.ask(py, asking)?;
        let (head, mut text) = response.into_parts();
        if let Some(pieces) = pieces {
            let mut whole = Vec::new();
            while let Some(piece) = pieces.take(py)? {
                whole.extend_from_slice(&piece);
            }
            text = whole.into();
        }
        Ok((head.status.as_u16(), pairs(&head.headers), PyBytes::new(py, &text)))
    }

    /// Answers a GET of any length: status, headers, the body, and in its place the pieces of a long one.
    fn stream<'py>(
        &self,
        py: Python<'py>,
        target: String,
    ) -> PyResult<(u16, Pairs, Bound<'py, PyBytes>, Option<Pieces>)> {
        let headers = headers(&[])?;
        let (method, body) = (Method::GET, Vec::new());
        let asking = Asking { method, target, is_limited: false, headers, body };
        let (response, pieces) = self.ask(py, asking)?;
        let text = PyBytes::new(py, response.body());
        Ok((response.status().as_u16(), pairs(response.headers()), text, pieces.map(Pieces)))
    }

    /// The records of a list as columns. The query is that of a stream.
    fn columns(&self, entity: &str, query: &str, has_numbers: bool) -> PyResult<Columns> {
        let list = parse_list_query(entity_of(entity)?, query).map_err(|details| {
            let reasons: Vec<String> = details.into_iter().map(|detail| detail.reason).collect();
            Raised::Value(reasons.join("; "))
        })?;
        Ok(Columns::new(self.opened()?, list.query, has_numbers))
    }

    /// The best record for each text; a text is a list of its parts.
    fn matches(&self, py: Python<'_>, entity: &str, texts: Vec<Parts>) -> PyResult<Matches> {
        let entity = entity_of(entity)?;
        if !Question::is_about(entity) {
            return Err(Raised::Value(format!("texts are not matched with {entity}")).into());
        }
        Matches::find(py, &self.opened()?, entity, texts)
    }
}

fn entity_of(name: &str) -> Result<Entity, Raised> {
    Entity::all().find(|entity| entity.facts().plural == name).ok_or_else(|| {
        let names: Vec<&str> = Entity::all().map(|entity| entity.facts().plural).collect();
        Raised::Value(format!("`{name}` is no entity; expected one of {}", names.join(", ")))
    })
}

/// Headers of a request. Links need a host.
fn headers(given: &[(String, String)]) -> Result<HeaderMap, Raised> {
    let mut headers = HeaderMap::new();
    headers.insert(header::HOST, HeaderValue::from_static("localhost"));
    for (name, value) in given {
        let refuse = || Raised::Value(format!("`{name}: {value}` is no header"));
        let name = HeaderName::try_from(name).map_err(|_| refuse())?;
        headers.insert(name, HeaderValue::try_from(value).map_err(|_| refuse())?);
    }
    Ok(headers)
}

fn pairs(headers: &HeaderMap) -> Pairs {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}
