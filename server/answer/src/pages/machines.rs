//! For programs that read pages: rules for robots, the map of the site, the search of browsers, and the text for language
//! models.
//!
//! Their formats ask for whole addresses, which begin with the host that the client named.

use std::fmt::Write;
use std::num::NonZeroU32;
use std::sync::LazyLock;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use pinakes_format::query::{Query, QueryError};

use crate::define::{Answer, Call, Cost, Planned, Planning};
use crate::pages::groups::id_text;
use crate::pages::html::escaped;
use crate::pages::members::record_path;
use crate::pages::tables;
use crate::reply::Reply;
use crate::reply::static_body::StaticBody;
use crate::reply::static_page::TEXT;

const ROBOTS: &str = include_str!("../../templates/browse/robots.txt");
/// The text of `/llms.txt`.
pub const LLMS: &str = include_str!("../../templates/browse/llms.txt");
/// The file with the description of the search.
pub const OPEN_SEARCH: &str = "opensearch.xml";
/// Records of each list that the map of the site names: the first in the order of lists.
const MAPPED_RECORDS: u32 = 1_000;
const XML: &str = "application/xml; charset=utf-8";

/// `/robots.txt`: robots may read the pages of records, and no searches and no filtered lists.
pub fn robots(call: &Call<'_>) -> Reply {
    let site_map = match call.settings.has_browse {
        true => format!("Sitemap: {}/sitemap.xml\n", call.origin()),
        false => String::new(),
    };
    Reply::text(StatusCode::OK, TEXT, Bytes::from(format!("{ROBOTS}{site_map}")))
}

/// `/llms.txt`: what the service is and how to ask it, for language models.
pub fn llms_text(headers: &HeaderMap) -> Reply {
    static BODY: LazyLock<StaticBody> = LazyLock::new(|| StaticBody::new(TEXT, LLMS));
    BODY.reply(headers, Vec::new())
}

/// The description by which browsers add the search box to theirs.
pub fn open_search(call: &Call<'_>) -> Reply {
    let origin = escaped(&call.origin());
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <OpenSearchDescription xmlns=\"http://a9.com/-/spec/opensearch/1.1/\">\n\
         <ShortName>Pinakes</ShortName>\n\
         <Description>Works, authors, institutions, sources, funders and topics</Description>\n\
         <InputEncoding>UTF-8</InputEncoding>\n\
         <Image width=\"16\" height=\"16\" type=\"image/svg+xml\">{origin}/browse/icon.svg</Image>\n\
         <Url type=\"text/html\" template=\"{origin}/browse/search?query={{searchTerms}}\"/>\n\
         </OpenSearchDescription>\n"
    );
    Reply::text(StatusCode::OK, "application/opensearchdescription+xml", Bytes::from(text))
}

/// Plans the map of the site.
pub fn plan_site_map(_: &Planning<'_>) -> Result<Planned, Reply> {
    Ok(Planned::work(Cost::Large, site_map))
}

/// The pages of lists, and of the first records of each.
///
/// Cost: the ids of so many records.
fn site_map(call: &Call<'_>) -> Answer {
    let (snapshot, origin) = (call.snapshot, escaped(&call.origin()));
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
    );
    let mut add = |path: &str| {
        // Writing to memory does not fail.
        let _ = writeln!(text, "<url><loc>{origin}{path}</loc></url>");
    };
    add("/browse");
    add("/browse/taxonomy");
    call.limits().run(|deadline| {
        for facts in tables::all().map(|shown| shown.entity.facts()) {
            add(&format!("/browse/{}", facts.route));
            if !facts.has_single {
                continue;
            }
            let mut query = Query::new(facts.entity);
            (query.page, query.per_page) = (NonZeroU32::MIN, MAPPED_RECORDS);
            // On a mirror, the ids of all lists are fetched together.
            let found = query.execute(snapshot, deadline).map(|answer| answer.rows);
            for row in snapshot.or_noted(found)? {
                let id = snapshot.or_noted(snapshot.row_id(facts.entity, row))?;
                let id = id_text(facts.entity, id);
                add(&record_path(facts.entity, &id));
            }
        }
        Ok::<(), QueryError>(())
    })?;
    text.push_str("</urlset>\n");
    Ok(Reply::text(StatusCode::OK, XML, text.into()))
}
