//! The plan of an endpoint for a request: a finished reply, or work.

use pinakes_format::entity::Facts;

use crate::define::call::Call;
use crate::define::failure::Answer;
use crate::define::path::RoutePath;
use crate::reply::Reply;
use crate::reply::static_page::StaticPage;
use crate::request::path::Segment;

/// A request that an endpoint plans: the call, and what its path says.
pub struct Planning<'a> {
    /// The request, over the snapshot that answers it.
    pub call: Call<'a>,
    /// The path of the endpoint, of one list if it is of lists.
    pub path: &'static RoutePath,
    /// The segment that the client chose, such as an identifier; empty if the path has none.
    pub segment: Segment,
}

impl<'a> Planning<'a> {
    /// The segment of the path that the client chose, as sent.
    pub fn segment(&self) -> &'a str {
        self.segment.text_in(self.call.path)
    }

    /// The entity whose list the path names.
    pub fn facts(&self) -> &'static Facts {
        self.path.facts()
    }
}

/// The plan for a valid request.
pub enum Planned {
    /// The finished reply to a request that needs no work.
    Reply(Reply),
    /// The work that answers the request.
    Work(Work),
}

impl Planned {
    /// Work of a request.
    pub fn work(cost: Cost, run: impl Fn(&Call<'_>) -> Answer + Send + Sync + 'static) -> Planned {
        Planned::Work(Work { cost, run: Box::new(run) })
    }

    /// Work of a request, unless the client has the current reply.
    pub fn unless_current(
        call: &Call<'_>,
        cost: Cost,
        run: impl Fn(&Call<'_>) -> Answer + Send + Sync + 'static,
    ) -> Planned {
        call.not_modified().map_or_else(|| Planned::work(cost, run), Planned::Reply)
    }
}

/// Checks a request without reading the snapshot's files. The error is the reply to an invalid request.
pub type Plan = fn(&Planning<'_>) -> Result<Planned, Reply>;

/// The work of a request, which may be done more than once: on a shared thread, from the beginning on another, and again
/// when absent chunks were fetched.
pub struct Work {
    /// How much it is.
    pub cost: Cost,
    /// Does the work once.
    pub run: Box<dyn Fn(&Call<'_>) -> Answer + Send + Sync>,
}

/// How much work a request is, which decides the threads that do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// At most one record, or one word's candidates. A shared thread tries the work; on another, a permit to read from
    /// disk suffices.
    Small,
    /// A page of a short list, or several words. A shared thread tries the work while the disk is idle: while the
    /// disk is busy, asking for each byte of a list whether it is in memory takes longer than the list.
    Short,
    /// Perhaps hundreds of records, or a request with a body: needs a work permit.
    Large,
}

/// The most rows of an entity whose lists, and completions of several words, are tried on a shared thread: 64
/// containers of rows to intersect. On two cores, lists of 1,000,000 outputs were answered 1.4 times as fast there.
const SHORT_ROWS_MAX: u64 = 64 << 16;

impl Cost {
    /// The cost of intersecting rows of lists with so many rows.
    pub fn of_rows(rows: u64) -> Cost {
        if rows <= SHORT_ROWS_MAX { Cost::Short } else { Cost::Large }
    }
}

/// The reply with a page that the binary holds, or with its file of this name.
///
/// # Errors
///
/// The reply 404 if there is no such file, or if an option turns the page off.
pub fn page_or_not_found(
    page: &StaticPage,
    is_on: bool,
    file: Option<&str>,
    planning: &Planning<'_>,
) -> Result<Planned, Reply> {
    let reply = is_on.then(|| page.reply(file, planning.call.headers)).flatten();
    reply.map(Planned::Reply).ok_or_else(|| planning.call.not_found())
}
