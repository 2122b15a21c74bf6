//! GraphQL queries made to be expensive, of at most 64 KiB, the limit of a request body.

/// All hostile queries, each with a name.
pub fn queries() -> Vec<(&'static str, String)> {
    let each = |count: usize, of: fn(usize) -> String| (0..count).map(of).collect::<String>();
    let bomb = each(24, |at| format!("fragment f{at} on Author{{...f{0} ...f{0}}} ", at + 1));
    let lists = "outputs(per_page:100){results{authors{author{".repeat(3);
    vec![
        ("nested lists", format!("{{{lists}id{}}}", "}}}}".repeat(3))),
        (
            "1,000 aliases",
            format!(
                "{{{}}}",
                each(1_000, |at| format!("a{at}:outputs(per_page:100){{results{{id}}}}"))
            ),
        ),
        (
            "300 aliases",
            format!(
                "{{{}}}",
                each(300, |at| format!("a{at}:outputs(per_page:100){{results{{id}}}}"))
            ),
        ),
        ("10,000 fields", format!("{{author(id:\"HX_A1\"){{{}}}}}", "id ".repeat(10_000))),
        ("1,900 fields", format!("{{author(id:\"HX_A1\"){{{}}}}}", "id ".repeat(1_900))),
        (
            "a fragment bomb",
            format!("{{author(id:\"HX_A1\"){{...f0}}}}{bomb}fragment f24 on Author{{id}}"),
        ),
        ("65,000 braces", "{".repeat(65_000)),
        ("a deep list", format!("{{author(id:{}", "[".repeat(5_000))),
        ("5,000 directives", format!("{{__typename {}}}", "@a ".repeat(5_000))),
        ("1,900 directives", format!("{{__typename {}}}", "@a ".repeat(1_900))),
        ("5,000 unknown fields", format!("{{{}}}", each(5_000, |at| format!("x{at} ")))),
        (
            "900 variables",
            format!("query({}){{__typename}}", each(900, |at| format!("$v{at}:Int "))),
        ),
        ("60,000 signs", format!("{{{}", "$ ".repeat(30_000))),
        ("a long comment", format!("#{}\n{{x}}", "c".repeat(60_000))),
        ("a long text", format!("{{author(id:\"{}\"){{x}}}}", "é".repeat(30_000))),
    ]
}
