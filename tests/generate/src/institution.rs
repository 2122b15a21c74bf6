//! Institutions and institution types.

use crate::dates::emit_newest_dates;
use crate::emit::{Id, Quoted, Short, Signed, list, put};
use crate::names::{Ror, put_organisation};
use crate::places::{self, Place};
use crate::random::{Random, Stream};
use crate::text::{Script, put_phrase};
use crate::{Entity, Plan, statistics};

/// Codes of the institution types.
pub(crate) const TYPES: [&str; 9] = [
    "education",
    "healthcare",
    "company",
    "archive",
    "nonprofit",
    "government",
    "facility",
    "funder",
    "other",
];

/// The members of an institution that other records repeat.
pub(crate) struct Institution {
    pub(crate) ordinal: u64,
    pub(crate) id: Id,
    pub(crate) place: &'static Place,
    kind: &'static str,
    ror: u64,
    parent: Option<u64>,
}

impl Institution {
    pub(crate) fn new(plan: &Plan, ordinal: u64) -> Self {
        let mut random = plan.random(Entity::Institutions, ordinal, Stream::Facts);
        let kind = TYPES[random.skewed(TYPES.len() as u64, 2) as usize];
        let parent = random.chance(200).then(|| plan.draw(Entity::Institutions, &mut random));
        Self {
            ordinal,
            id: plan.id(Entity::Institutions, ordinal),
            place: places::draw(&mut random),
            kind,
            ror: random.bits(),
            parent: parent.filter(|&parent| parent != ordinal),
        }
    }

    fn put_lineage(&self, plan: &Plan, out: &mut Vec<u8>) {
        put!(out; "\"lineage\":[", self.id);
        if let Some(parent) = self.parent {
            put!(out; ",", plan.id(Entity::Institutions, parent));
        }
        put!(out; "]");
    }

    /// `{…}` as authorships and affiliations show it.
    pub(crate) fn put_reference(&self, plan: &Plan, out: &mut Vec<u8>) {
        put!(out; "{\"id\":", self.id, ",\"display_name\":\"");
        put_name(plan, self.ordinal, out);
        put!(out; "\",\"ror\":", Ror(self.ror), ",\"country_code\":\"", self.place.code, "\",\"type\":\"", self.kind, "\",");
        self.put_lineage(plan, out);
        put!(out; "}");
    }
}

/// The display name, without quotes.
pub(crate) fn put_name(plan: &Plan, ordinal: u64, out: &mut Vec<u8>) {
    put_organisation(&mut plan.random(Entity::Institutions, ordinal, Stream::Name), out);
}

pub(crate) fn record(plan: &Plan, ordinal: u64, out: &mut Vec<u8>) {
    let institution = Institution::new(plan, ordinal);
    let mut random = plan.random(Entity::Institutions, ordinal, Stream::Body);
    let works =
        plan.expected(Entity::Institutions, ordinal, plan.outputs() as f64 * 3.0) as u64 + 1;
    let citations = works * random.between(2, 30);
    put_identity(plan, &institution, &mut random, out);
    put!(out; ",\"works_count\":", works, ",\"cited_by_count\":", citations, ",");
    statistics::put_summary(works, citations, &mut random, out);
    put_ids(&institution, &mut random, out);
    put_places(&institution, &mut random, out);
    put_associates(plan, &institution, &mut random, out);
    put!(out; ",");
    statistics::put_counts_by_year(works, citations, &mut random, out);
    put_roles(plan, &institution, works, &mut random, out);
    let topics = random.between(5, 25);
    statistics::put_topics(plan, works, topics, &mut random, out);
    put!(out; ",\"is_super_system\":", random.chance(5));
    put!(out; ",\"works_api_url\":\"https://api.openalex.org/works?filter=institutions.id:", Short(institution.id), "\"");
    emit_newest_dates(plan, Entity::Institutions, ordinal, out);
    put!(out; "}");
}

fn put_identity(plan: &Plan, institution: &Institution, random: &mut Random, out: &mut Vec<u8>) {
    let Institution { ordinal, id, kind, .. } = *institution;
    put!(out; "{\"id\":", id, ",\"ror\":", Ror(institution.ror), ",\"display_name\":\"");
    put_name(plan, ordinal, out);
    put!(out; "\",\"country_code\":\"", institution.place.code, "\",\"type\":\"", kind);
    put!(out; "\",\"type_id\":\"https://openalex.org/institution-types/", kind, "\",");
    institution.put_lineage(plan, out);
    put!(out; ",\"homepage_url\":");
    put!(out; random.chance(900).then_some(Quoted(("https://www.example.edu/", ordinal))));
    const IMAGE: &str =
        "https://commons.wikimedia.org/w/index.php?title=Special:Redirect/file/Campus.jpg";
    let image = random.chance(500).then_some(Quoted(IMAGE));
    put!(out; ",\"image_url\":", image, ",\"image_thumbnail_url\":", image, ",\"display_name_acronyms\":");
    let (acronyms, alternatives) = (random.below(2), random.below(3));
    list(out, 0..acronyms, |out, _| {
        put!(out; "\"");
        out.extend((0..4).map(|_| b'A' + random.below(26) as u8));
        put!(out; "\"");
    });
    put!(out; ",\"display_name_alternatives\":");
    list(out, 0..alternatives, |out, _| {
        put!(out; "\"");
        put_organisation(random, out);
        put!(out; "\"");
    });
}

fn put_ids(institution: &Institution, random: &mut Random, out: &mut Vec<u8>) {
    let id = institution.id;
    put!(out; ",\"ids\":{\"openalex\":", id, ",\"ror\":", Ror(institution.ror), ",\"mag\":\"", id.1);
    put!(out; "\",\"grid\":\"grid.", random.between(1000, 600_000), ".", random.below(16), "\",\"wikipedia\":");
    if random.chance(700) {
        put!(out; "\"https://en.wikipedia.org/wiki/");
        put_phrase(out, Script::Latin, random, 1, true);
        put!(out; "\"");
    } else {
        put!(out; "null");
    }
    put!(out; ",\"wikidata\":\"https://www.wikidata.org/wiki/Q", random.between(1000, 90_000_000), "\"}");
}

fn put_places(institution: &Institution, random: &mut Random, out: &mut Vec<u8>) {
    let place = institution.place;
    put!(out; ",\"geo\":{\"city\":\"", place.city, "\",\"geonames_city_id\":\"", random.between(100_000, 9_999_999));
    put!(out; "\",\"region\":null,\"country_code\":\"", place.code, "\",\"country\":\"", place.country);
    put!(out; "\",\"latitude\":", Signed(place.latitude, 4), ",\"longitude\":", Signed(place.longitude, 4));
    put!(out; "},\"international\":{\"display_name\":{");
    const LANGUAGES: [(&str, Script); 9] = [
        ("en", Script::Latin),
        ("es", Script::Accented),
        ("ru", Script::Cyrillic),
        ("el", Script::Greek),
        ("zh", Script::Chinese),
        ("ja", Script::Japanese),
        ("ko", Script::Korean),
        ("ar", Script::Arabic),
        ("th", Script::Thai),
    ];
    let shown = random.between(0, LANGUAGES.len() as u64) as usize;
    for (position, (language, script)) in LANGUAGES[..shown].iter().enumerate() {
        put!(out; if position > 0 { "," } else { "" }, "\"", *language, "\":\"");
        put_phrase(out, *script, random, 3, true);
        put!(out; "\"");
    }
    put!(out; "}}");
}

fn put_associates(plan: &Plan, institution: &Institution, random: &mut Random, out: &mut Vec<u8>) {
    put!(out; ",\"repositories\":");
    let repositories = random.skewed(3, 3);
    list(out, 0..repositories, |out, _| {
        let source = plan.draw(Entity::Sources, random);
        put!(out; "{\"id\":", plan.id(Entity::Sources, source), ",\"display_name\":\"");
        crate::source::put_name(plan, source, out);
        put!(out; "\",\"host_organization\":", institution.id, ",\"host_organization_name\":\"");
        put_name(plan, institution.ordinal, out);
        put!(out; "\",\"host_organization_lineage\":[", institution.id, "]}");
    });
    put!(out; ",\"associated_institutions\":");
    let associates = random.skewed(30, 3);
    list(out, 0..associates, |out, _| {
        let other = Institution::new(plan, plan.draw(Entity::Institutions, random));
        put!(out; "{\"id\":", other.id, ",\"ror\":", Ror(other.ror), ",\"display_name\":\"");
        put_name(plan, other.ordinal, out);
        put!(out; "\",\"country_code\":\"", other.place.code, "\",\"type\":\"", other.kind, "\",\"relationship\":\"");
        put!(out; *random.choose(&["related", "child", "parent"]), "\"}");
    });
}

fn put_roles(
    plan: &Plan,
    institution: &Institution,
    works: u64,
    random: &mut Random,
    out: &mut Vec<u8>,
) {
    put!(out; ",\"roles\":[{\"role\":\"institution\",\"id\":", institution.id, ",\"works_count\":", works, "}");
    if random.chance(300) {
        let funder = plan.draw(Entity::Funders, random);
        put!(out; ",{\"role\":\"funder\",\"id\":", plan.id(Entity::Funders, funder), ",\"works_count\":", works / 3, "}");
    }
    put!(out; "],");
}

/// An institution type: its id is its code.
pub(crate) fn type_record(plan: &Plan, ordinal: u64, out: &mut Vec<u8>) {
    let code = TYPES[ordinal as usize];
    let works = plan.outputs() / (ordinal + 2);
    put!(out; "{\"id\":\"https://openalex.org/institution-types/", code, "\",\"display_name\":\"", code);
    put!(out; "\",\"description\":\"Institutions of the type ", code, ".\",\"works_count\":", works);
    put!(out; ",\"cited_by_count\":", works * 12);
    put!(out; ",\"works_api_url\":\"https://api.openalex.org/works?filter=institutions.type:", code, "\"");
    emit_newest_dates(plan, Entity::InstitutionTypes, ordinal, out);
    put!(out; "}");
}
