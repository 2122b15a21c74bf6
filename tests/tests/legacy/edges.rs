//! A dump with taxonomy nodes that real dumps lack.

/// Writes the dump. Parents and children are absent, lack an id or a name, or have two spellings. Topics fall into
/// more than 200 groups, and one topic is merged into another.
pub fn edges() -> tempfile::TempDir {
    let dump = tempfile::tempdir().unwrap();
    let children = [
        r#"[{"id":"https://openalex.org/fields/90","display_name":"Ghost"},{"id":"https://openalex.org/fields/90","display_name":"Spectre"},{"display_name":"No id"}]"#,
        r#"[{"id":"https://openalex.org/fields/90","display_name":"Spectre"},{"id":"https://openalex.org/fields/91","display_name":null},null]"#,
        "[]",
        r#"[{"id":"https://openalex.org/fields/91","display_name":null}]"#,
        "null",
    ];
    let domains: String = children
        .iter()
        .zip(1..)
        .map(|(fields, id)| {
            let siblings = fields.replace("fields/", "domains/");
            let works = if id == 2 { "null".to_owned() } else { (id % 2).to_string() };
            format!(
                r#"{{"id":"https://openalex.org/domains/{id}","display_name":"Domain {id}","fields":{fields},"siblings":{siblings},"works_count":{works},"updated_date":"2026-01-10"}}"#
            ) + "\n"
        })
        .collect();
    let parent = |level: &str, id: usize| {
        format!(r#"{{"id":"https://openalex.org/{level}/{id}","display_name":"{level} {id}"}}"#)
    };
    let topics: String = (1..=400)
        .map(|id: usize| {
            let (subfield, field) = (parent("subfields", 1_000 + id * 3 / 4), parent("fields", id % 9));
            let domain = match id % 5 {
                0 => "null".to_owned(),
                1 => r#"{"display_name":"Without id"}"#.to_owned(),
                2 => parent("domains", 7),
                _ => parent("domains", id % 5),
            };
            format!(
                r#"{{"id":"https://openalex.org/T{id}","display_name":"Topic {id}","subfield":{subfield},"field":{field},"domain":{domain},"works_count":{},"updated_date":"2026-01-10"}}"#,
                id % 13
            ) + "\n"
        })
        .collect();
    let merged = "merge_date,id,merge_into_id\n2026-01-15,T300,T2\n";
    pinakes_tests::write_files(
        dump.path(),
        [
            ("domains.jsonl", domains.as_str()),
            ("topics.jsonl", topics.as_str()),
            ("merged_ids/topics/2026-01-15.csv", merged),
        ],
    );
    dump
}
