//! Domains, fields, subfields and topics: the tree, how other records refer to it, and its own records.
//!
//! Topic t belongs to subfield t modulo 252, so parents and children are computed and never searched.

use crate::dates::emit_newest_dates;
use crate::emit::{Id, Quoted, Short, list, put};
use crate::random::{Random, Stream};
use crate::text::{Script, put_phrase};
use crate::{Entity, Plan};

pub(crate) const DOMAINS: u64 = 4;
pub(crate) const FIELDS: u64 = FIELD_TABLE.len() as u64;
pub(crate) const SUBFIELDS: u64 = 252;

const DOMAIN_NAMES: [&str; 4] =
    ["Life Sciences", "Social Sciences", "Physical Sciences", "Health Sciences"];

/// Name, domain ordinal and number of subfields of each field, by field number from 11.
const FIELD_TABLE: [(&str, u64, u64); 26] = [
    ("Agricultural and Biological Sciences", 0, 11),
    ("Arts and Humanities", 1, 13),
    ("Biochemistry, Genetics and Molecular Biology", 0, 14),
    ("Business, Management and Accounting", 1, 9),
    ("Chemical Engineering", 2, 6),
    ("Chemistry", 2, 6),
    ("Computer Science", 2, 11),
    ("Decision Sciences", 1, 4),
    ("Earth and Planetary Sciences", 2, 8),
    ("Economics, Econometrics and Finance", 1, 3),
    ("Energy", 2, 5),
    ("Engineering", 2, 16),
    ("Environmental Science", 2, 11),
    ("Immunology and Microbiology", 0, 5),
    ("Materials Science", 2, 8),
    ("Mathematics", 2, 10),
    ("Medicine", 3, 42),
    ("Neuroscience", 0, 8),
    ("Nursing", 3, 4),
    ("Pharmacology, Toxicology and Pharmaceutics", 0, 4),
    ("Physics and Astronomy", 2, 8),
    ("Psychology", 1, 7),
    ("Social Sciences", 1, 22),
    ("Veterinary", 3, 2),
    ("Dentistry", 3, 4),
    ("Health Professions", 3, 11),
];

/// Field ordinal and position within the field, for each subfield ordinal.
const SUBFIELD_TABLE: [(u64, u64); SUBFIELDS as usize] = {
    let mut table = [(0, 0); SUBFIELDS as usize];
    let (mut subfield, mut field) = (0, 0);
    while field < FIELD_TABLE.len() {
        let mut position = 0;
        while position < FIELD_TABLE[field].2 {
            table[subfield] = (field as u64, position);
            subfield += 1;
            position += 1;
        }
        field += 1;
    }
    assert!(subfield == SUBFIELDS as usize);
    table
};

/// The four digits of a subfield: its field's number, then its position.
pub(crate) fn subfield_number(subfield: u64) -> u64 {
    let (field, position) = SUBFIELD_TABLE[subfield as usize];
    (11 + field) * 100 + position
}

fn subfield_of(topic: u64) -> u64 {
    topic % SUBFIELDS
}

fn field_of(subfield: u64) -> u64 {
    SUBFIELD_TABLE[subfield as usize].0
}

fn domain_of(field: u64) -> u64 {
    FIELD_TABLE[field as usize].1
}

/// The name of a node, without quotes.
pub(crate) fn put_name(plan: &Plan, entity: Entity, ordinal: u64, out: &mut Vec<u8>) {
    match entity {
        Entity::Domains => put!(out; DOMAIN_NAMES[ordinal as usize]),
        Entity::Fields => put!(out; FIELD_TABLE[ordinal as usize].0),
        _ => {
            let mut random = plan.random(entity, ordinal, Stream::Name);
            let words =
                if entity == Entity::Topics { random.between(3, 6) } else { random.between(1, 3) };
            put_phrase(out, Script::Latin, &mut random, words, true);
        }
    }
}

/// `"id":…,"display_name":…` of a node.
fn put_node(plan: &Plan, entity: Entity, ordinal: u64, out: &mut Vec<u8>) {
    put!(out; "\"id\":", plan.id(entity, ordinal), ",\"display_name\":\"");
    put_name(plan, entity, ordinal, out);
    put!(out; "\"");
}

/// `{"id":…,"display_name":…` of a topic, left open for more members.
pub(crate) fn put_reference(plan: &Plan, topic: u64, out: &mut Vec<u8>) {
    put!(out; "{");
    put_node(plan, Entity::Topics, topic, out);
}

/// `,"subfield":{…},"field":{…},"domain":{…}` of a topic.
pub(crate) fn put_ancestors(plan: &Plan, topic: u64, out: &mut Vec<u8>) {
    let subfield = subfield_of(topic);
    put!(out; ",\"subfield\":{");
    put_node(plan, Entity::Subfields, subfield, out);
    put!(out; "}");
    put_above_subfield(plan, subfield, out);
}

/// `,"field":{…},"domain":{…}` of a subfield.
fn put_above_subfield(plan: &Plan, subfield: u64, out: &mut Vec<u8>) {
    let field = field_of(subfield);
    put!(out; ",\"field\":{");
    put_node(plan, Entity::Fields, field, out);
    put!(out; "}");
    put_domain(plan, field, out);
}

fn put_domain(plan: &Plan, field: u64, out: &mut Vec<u8>) {
    put!(out; ",\"domain\":{");
    put_node(plan, Entity::Domains, domain_of(field), out);
    put!(out; "}");
}

/// `,"<member>":[{"id":…,"display_name":…},…]`.
fn put_nodes(
    plan: &Plan,
    member: &str,
    entity: Entity,
    nodes: impl Iterator<Item = u64>,
    out: &mut Vec<u8>,
) {
    put!(out; ",\"", member, "\":");
    list(out, nodes, |out, node| {
        put!(out; "{");
        put_node(plan, entity, node, out);
        put!(out; "}");
    });
}

fn topics_of(plan: &Plan, subfield: u64) -> impl Iterator<Item = u64> {
    (subfield..plan.count(Entity::Topics)).step_by(SUBFIELDS as usize)
}

/// Average numbers of works and citations of one topic.
fn topic_counts(plan: &Plan, topic: u64) -> (u64, u64) {
    let works = plan.expected(Entity::Topics, topic, plan.outputs() as f64 * 2.5) as u64;
    (works, works * 14)
}

fn summed(plan: &Plan, keep: impl Fn(u64) -> bool) -> (u64, u64) {
    (0..plan.count(Entity::Topics))
        .filter(|&topic| keep(subfield_of(topic)))
        .map(|topic| topic_counts(plan, topic))
        .fold((0, 0), |sum, counts| (sum.0 + counts.0, sum.1 + counts.1))
}

/// Counts, API address and dates: the end of every record of the taxonomy.
fn put_end(plan: &Plan, entity: Entity, ordinal: u64, counts: (u64, u64), out: &mut Vec<u8>) {
    put!(out; ",\"works_count\":", counts.0, ",\"cited_by_count\":", counts.1);
    put!(out; ",\"works_api_url\":\"https://api.openalex.org/works?filter=topics.id:", Short(plan.id(entity, ordinal)));
    put!(out; "\"");
    emit_newest_dates(plan, entity, ordinal, out);
    put!(out; "}");
}

fn put_description(random: &mut Random, words: u64, out: &mut Vec<u8>) {
    put!(out; ",\"description\":\"");
    put_phrase(out, Script::Latin, random, words, false);
    put!(out; ".\"");
}

/// `,"ids":{…},"display_name_alternatives":[…]` of a node above the topics.
fn put_upper_ids(id: Id, random: &mut Random, out: &mut Vec<u8>) {
    put!(out; ",\"ids\":{\"openalex\":", id, ",\"wikidata\":\"http://www.wikidata.org/entity/Q", random.below(1 << 24));
    put!(out; "\",\"wikipedia\":\"https://en.wikipedia.org/wiki/");
    put_phrase(out, Script::Latin, random, 1, true);
    put!(out; "\"},\"display_name_alternatives\":");
    let alternatives = random.below(3);
    list(out, 0..alternatives, |out, _| {
        put!(out; "\"");
        put_phrase(out, Script::Latin, random, 2, false);
        put!(out; "\"");
    });
}

pub(crate) fn topic(plan: &Plan, topic: u64, out: &mut Vec<u8>) {
    let mut random = plan.random(Entity::Topics, topic, Stream::Body);
    put_reference(plan, topic, out);
    let words = random.between(30, 60);
    put_description(&mut random, words, out);
    put!(out; ",\"keywords\":");
    let keywords = random.between(5, 10);
    list(out, 0..keywords, |out, _| {
        put!(out; "\"");
        let words = random.between(1, 3);
        put_phrase(out, Script::Latin, &mut random, words, true);
        put!(out; "\"");
    });
    put!(out; ",\"ids\":{\"openalex\":", plan.id(Entity::Topics, topic), ",\"wikipedia\":");
    let wikipedia = random.chance(900).then(|| random.bits() % 1_000_000);
    put!(out; wikipedia.map(|page| Quoted(WikipediaPage(page))), "}");
    put_ancestors(plan, topic, out);
    let siblings = topics_of(plan, subfield_of(topic)).filter(|&other| other != topic);
    put_nodes(plan, "siblings", Entity::Topics, siblings, out);
    put_end(plan, Entity::Topics, topic, topic_counts(plan, topic), out);
}

/// The address of a made-up article.
struct WikipediaPage(u64);

impl crate::emit::Emit for WikipediaPage {
    fn emit(&self, out: &mut Vec<u8>) {
        put!(out; "https://en.wikipedia.org/wiki/");
        put_phrase(out, Script::Latin, &mut Random::new(self.0), 1, true);
    }
}

pub(crate) fn subfield(plan: &Plan, subfield: u64, out: &mut Vec<u8>) {
    let mut random = plan.random(Entity::Subfields, subfield, Stream::Body);
    put!(out; "{");
    put_node(plan, Entity::Subfields, subfield, out);
    put_description(&mut random, 8, out);
    put_upper_ids(plan.id(Entity::Subfields, subfield), &mut random, out);
    put_above_subfield(plan, subfield, out);
    put_nodes(plan, "topics", Entity::Topics, topics_of(plan, subfield), out);
    put_nodes(
        plan,
        "siblings",
        Entity::Subfields,
        (0..SUBFIELDS).filter(|&other| other != subfield),
        out,
    );
    put_end(plan, Entity::Subfields, subfield, summed(plan, |of| of == subfield), out);
}

pub(crate) fn field(plan: &Plan, field: u64, out: &mut Vec<u8>) {
    let mut random = plan.random(Entity::Fields, field, Stream::Body);
    put!(out; "{");
    put_node(plan, Entity::Fields, field, out);
    put_description(&mut random, 8, out);
    put_upper_ids(plan.id(Entity::Fields, field), &mut random, out);
    put_domain(plan, field, out);
    put_nodes(
        plan,
        "subfields",
        Entity::Subfields,
        (0..SUBFIELDS).filter(|&of| field_of(of) == field),
        out,
    );
    put_nodes(plan, "siblings", Entity::Fields, (0..FIELDS).filter(|&other| other != field), out);
    put_end(plan, Entity::Fields, field, summed(plan, |of| field_of(of) == field), out);
}

pub(crate) fn domain(plan: &Plan, domain: u64, out: &mut Vec<u8>) {
    let mut random = plan.random(Entity::Domains, domain, Stream::Body);
    put!(out; "{");
    put_node(plan, Entity::Domains, domain, out);
    put_description(&mut random, 8, out);
    put_upper_ids(plan.id(Entity::Domains, domain), &mut random, out);
    put_nodes(
        plan,
        "fields",
        Entity::Fields,
        (0..FIELDS).filter(|&of| domain_of(of) == domain),
        out,
    );
    put_nodes(
        plan,
        "siblings",
        Entity::Domains,
        (0..DOMAINS).filter(|&other| other != domain),
        out,
    );
    put_end(
        plan,
        Entity::Domains,
        domain,
        summed(plan, |of| domain_of(field_of(of)) == domain),
        out,
    );
}
