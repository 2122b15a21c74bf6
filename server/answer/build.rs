//! Makes the page of the guide from `API.md`: its text, and a list of contents.

use std::{env, fs, path::Path};

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

const GUIDE: &str = "API.md";

fn main() {
    println!("cargo::rerun-if-changed={GUIDE}");
    let text = fs::read_to_string(GUIDE).expect("the guide lies beside the manifest");
    let directory = env::var_os("OUT_DIR").expect("cargo sets the directory");
    fs::write(Path::new(&directory).join("guide.html"), page(&text))
        .expect("the directory of a build can be written");
}

/// The page: the contents, and the guide. Headings have the anchors that the guide's own links name.
fn page(text: &str) -> String {
    let mut events: Vec<Event<'_>> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
    let mut contents = String::new();
    let mut at = 0;
    while at < events.len() {
        match &events[at] {
            Event::Start(Tag::Heading { level, .. }) => {
                let level = *level;
                let title: String = events[at + 1..]
                    .iter()
                    .take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))))
                    .filter_map(|event| match event {
                        Event::Text(text) | Event::Code(text) => Some(text.as_ref()),
                        _ => None,
                    })
                    .collect();
                let anchor = anchor(&title);
                if level == HeadingLevel::H2 {
                    let title = title.replace('&', "&amp;").replace('<', "&lt;");
                    contents.push_str(&format!("<li><a href=\"#{anchor}\">{title}</a></li>\n"));
                }
                let (classes, attrs) = (Vec::new(), Vec::new());
                let tag = Tag::Heading { level, id: Some(anchor.into()), classes, attrs };
                events[at] = Event::Start(tag);
            }
            // Other documents of the repository are not served: their names stay as text.
            Event::Start(Tag::Link { dest_url, .. })
                if !dest_url.starts_with('#') && !dest_url.starts_with("http") =>
            {
                let end = (at..events.len())
                    .find(|at| matches!(events[*at], Event::End(TagEnd::Link)))
                    .expect("a link ends");
                events.remove(end);
                events.remove(at);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    let mut guide = String::new();
    html::push_html(&mut guide, events.into_iter());
    // The page lies below `/docs/`, whose neighbours are named relative to it.
    format!(
        r#"<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Guide to the API · Pinakes</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="guide.css">
  </head>
  <body>
    <nav aria-label="Other pages"><a href="../browse">Browse</a> · <a href="../docs">Every endpoint</a> · <a href="API.md">Markdown</a></nav>
    <nav class="contents" aria-label="Contents"><ul>
{contents}</ul></nav>
    <main>
{guide}    </main>
  </body>
</html>
"#
    )
}

/// The anchor that a heading has in repositories: lower case, hyphens for spaces.
fn anchor(title: &str) -> String {
    let kept = title
        .chars()
        .filter(|character| character.is_alphanumeric() || matches!(character, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}
