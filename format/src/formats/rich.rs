//! Titles whose markup is read: emphasis, sub- and superscripts and formulas, from HTML, JATS and MathML.
//!
//! ```text
//! Spin in <mml:math><mml:msub><mml:mi>RuO</mml:mi><mml:mn>2</mml:mn></mml:msub></mml:math> &amp; films
//! text     Spin in RuO2 & films
//! CSL      Spin in RuO<sub>2</sub> & films
//! BibTeX   Spin in {RuO$_2$} \& films
//! ```
//!
//! Tags and entities may be escaped once more, as dumps have them (`&amp;lt;i&amp;gt;`). Other tags are text.

use html_escape::decode_html_entities;

use crate::formats::names::one_line;
use crate::text::tags::TagKind;

/// How a part of a title is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// As the rest of the text.
    Plain,
    /// Emphasis.
    Italic,
    /// Subscript.
    Sub,
    /// Superscript.
    Super,
    /// TeX between dollars, dollars included.
    Formula,
}

/// A title in parts of one style each.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Rich(pub Vec<(Style, String)>);

/// The longest tag that is read; what is longer is text.
const TAG_BYTES_MAX: usize = 512;

/// Open tags inside each other; deeper ones change no style, so that a text takes time by its length alone.
const DEPTH_MAX: usize = 32;

/// A tag that is open, and how many of its children are begun.
struct Open {
    name: String,
    children: usize,
    /// The style around the tag.
    outer: Style,
}

impl Rich {
    /// Reads the markup of a title.
    pub fn of(title: &str) -> Rich {
        // Twice, since dumps escape what was escaped.
        let once = decode_html_entities(title);
        let title = one_line(&decode_html_entities(&once));
        let mut rich = Rich::default();
        let mut style = Style::Plain;
        let mut open: Vec<Open> = Vec::new();
        let mut rest = title.as_str();
        while let Some(first) = rest.chars().next() {
            if let Some((tag, bytes)) = tag(rest) {
                rich.apply(&tag, &mut style, &mut open);
                rest = &rest[bytes..];
                continue;
            }
            if let Some(bytes) = formula(rest) {
                rich.push(Style::Formula, &rest[..bytes]);
                rest = &rest[bytes..];
                continue;
            }
            let end = first.len_utf8();
            // White space between tags of MathML says nothing.
            let is_between = first == ' '
                && rest[end..].starts_with('<')
                && open.iter().any(|open| open.name == "math");
            if !is_between {
                rich.push(style, &rest[..end]);
            }
            rest = &rest[end..];
        }
        rich.join_spaces();
        rich
    }

    /// Begins or ends the style of a tag.
    fn apply(&mut self, tag: &Tag, style: &mut Style, open: &mut Vec<Open>) {
        if tag.is_end {
            if let Some(at) = open.iter().rposition(|open| open.name == tag.name) {
                *style = open[at].outer;
                open.truncate(at);
            }
            self.separate(tag);
            return;
        }
        // A child of a base with scripts is set by its place.
        if let Some(parent) = open.last_mut() {
            let place = parent.children;
            parent.children += 1;
            match (parent.name.as_str(), place) {
                ("msub" | "msubsup" | "munder", 1) => *style = Style::Sub,
                ("msup", 1) | ("msubsup", 2) | ("mover", 1) => *style = Style::Super,
                ("mfrac", 1) => self.push(*style, "/"),
                ("msub" | "msup" | "msubsup" | "munder" | "mover", _) => *style = parent.outer,
                _ => {}
            }
        }
        self.separate(tag);
        if tag.is_empty || open.len() == DEPTH_MAX {
            return;
        }
        let outer = *style;
        *style = match tag.kind {
            TagKind::Italic => Style::Italic,
            TagKind::Sub => Style::Sub,
            TagKind::Super => Style::Super,
            TagKind::Bold | TagKind::Inline | TagKind::Formula | TagKind::Block => outer,
        };
        open.push(Open { name: tag.name.clone(), children: 0, outer });
    }

    /// A block or a line break stands between words.
    fn separate(&mut self, tag: &Tag) {
        if tag.kind == TagKind::Block {
            self.push(Style::Plain, " ");
        }
    }

    fn push(&mut self, style: Style, text: &str) {
        match self.0.last_mut() {
            Some((last, before)) if *last == style && style != Style::Formula => {
                before.push_str(text);
            }
            _ => self.0.push((style, text.to_owned())),
        }
    }

    /// Leaves one space of several, and none at the beginning and the end.
    fn join_spaces(&mut self) {
        let mut is_after_space = true;
        for (_, text) in &mut self.0 {
            text.retain(|letter| {
                let is_kept = letter != ' ' || !is_after_space;
                is_after_space = letter == ' ';
                is_kept
            });
        }
        if let Some((_, last)) = self.0.iter_mut().rev().find(|(_, text)| !text.is_empty()) {
            last.truncate(last.trim_end().len());
        }
        self.0.retain(|(_, text)| !text.is_empty());
    }

    /// The text without styles.
    pub fn text(&self) -> String {
        self.0.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// The text with the tags that CSL knows.
    pub fn tagged(&self) -> String {
        let part = |(style, text): &(Style, String)| match style {
            Style::Plain | Style::Formula => text.clone(),
            Style::Italic => format!("<i>{text}</i>"),
            Style::Sub => format!("<sub>{text}</sub>"),
            Style::Super => format!("<sup>{text}</sup>"),
        };
        self.0.iter().map(part).collect()
    }
}

/// A tag at the beginning of a text.
struct Tag {
    /// The local name, in small letters.
    name: String,
    kind: TagKind,
    is_end: bool,
    is_empty: bool,
}

/// Reads a known tag, and its length.
fn tag(text: &str) -> Option<(Tag, usize)> {
    let content = text.strip_prefix('<')?;
    let end = content.bytes().take(TAG_BYTES_MAX).position(|byte| byte == b'>')?;
    let content = &content[..end];
    let is_end = content.starts_with('/');
    let is_empty = content.ends_with('/');
    let content = content.trim_start_matches('/').trim_end_matches('/');
    let (name, attributes) = content.split_once(char::is_whitespace).unwrap_or((content, ""));
    // `n <b and c> d` compares numbers.
    if !attributes.trim().is_empty() && !attributes.contains('=') {
        return None;
    }
    let name = name.rsplit(':').next().unwrap_or(name).to_ascii_lowercase();
    let kind = TagKind::of(&name)?;
    Some((Tag { name, kind, is_end, is_empty }, end + 2))
}

/// The length of a formula between dollars, which is TeX with its braces closed.
fn formula(text: &str) -> Option<usize> {
    let open = if text.starts_with("$$") { 2 } else { 1 };
    let content = text.strip_prefix(&"$$"[..open])?;
    let end = content.find('$')?;
    let inner = &content[..end];
    let closes = content[end..].starts_with(&"$$"[..open]);
    let is_tex = inner.contains(['\\', '_', '^', '{']);
    let is_tight = !inner.starts_with(' ') && !inner.ends_with(' ');
    let is_whole = closes && is_tex && is_tight && !inner.contains(['<', '%', '#', '&', '~']);
    (is_whole && has_balanced_braces(inner)).then_some(open + end + open)
}

/// Whether each brace of a text has its counterpart.
pub fn has_balanced_braces(text: &str) -> bool {
    let mut open = 0_usize;
    for letter in text.bytes() {
        match letter {
            b'{' => open += 1,
            b'}' if open == 0 => return false,
            b'}' => open -= 1,
            _ => {}
        }
    }
    open == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_of_titles_is_read() {
        let check = |title: &str, text: &str, tagged: &str| {
            let rich = Rich::of(title);
            assert_eq!(rich.text(), text, "{title}");
            assert_eq!(rich.tagged(), tagged, "{title}");
        };
        let ruo = "Spin in <mml:math><mml:msub><mml:mi>RuO</mml:mi> <mml:mn>2</mml:mn></mml:msub></mml:math> &amp; films";
        check(ruo, "Spin in RuO2 & films", "Spin in RuO<sub>2</sub> & films");
        let species = "<p><strong>A new species of <em>Tachycines</em></strong></p>";
        check(species, "A new species of Tachycines", "A new species of <i>Tachycines</i>");
        let escaped = "Research &amp; Development: &lt;i&gt;in vivo&lt;/i&gt;";
        check(escaped, "Research & Development: in vivo", "Research & Development: <i>in vivo</i>");
        check("a &amp;lt;i&amp;gt;b&amp;lt;/i&amp;gt; c", "a b c", "a <i>b</i> c");
        check("H<sub>2</sub>O<sup>+</sup>", "H2O+", "H<sub>2</sub>O<sup>+</sup>");
        let both = "<math><msubsup><mi>x</mi><mrow><mn>1</mn></mrow><mn>2</mn></msubsup></math>y";
        check(both, "x12y", "x<sub>1</sub><sup>2</sup>y");
        check("<mml:mfrac><mml:mn>1</mml:mn><mml:mn>2</mml:mn></mml:mfrac>", "1/2", "1/2");
        check("<math><msup><mrow/><mn>3</mn></msup><mi>He</mi></math>", "3He", "<sup>3</sup>He");
        check("of ${\\mathit{K}}_{24}$", "of ${\\mathit{K}}_{24}$", "of ${\\mathit{K}}_{24}$");
        check(
            "a < b and c > d, $5 and $10",
            "a < b and c > d, $5 and $10",
            "a < b and c > d, $5 and $10",
        );
        check(
            "<script>alert(1)</script> <x y",
            "<script>alert(1)</script> <x y",
            "<script>alert(1)</script> <x y",
        );
        check("n <b and c> d", "n <b and c> d", "n <b and c> d");
        check("<i class=\"x\">a</i> <BR /> b", "a b", "<i>a</i> b");
        check("<small>A</small> <tt>b</tt><ul><ital>c</ital></ul>", "A b c", "A b <i>c</i>");
        check("One<br/>two <title>three</title>", "One two three", "One two three");
        check("&nbsp;é &eacute; &unknown; &", "é é &unknown; &", "é é &unknown; &");
        check(
            "</i>never</sub> opened <i>or closed",
            "never opened or closed",
            "never opened <i>or closed</i>",
        );
        check("", "", "");
    }

    #[test]
    fn tags_in_each_other_take_time_by_the_length_of_the_text() {
        let deep = format!("{}a {} b", "<i> ".repeat(100_000), "x ".repeat(100_000));
        assert_eq!(Rich::of(&deep).text().len(), 200_003);
    }

    #[test]
    fn formulas_are_tex_with_closed_braces() {
        let check =
            |text: &str, expected: Option<usize>| assert_eq!(formula(text), expected, "{text}");
        check("$x^2$ y", Some(5));
        check("$$a_b$$", Some(7));
        check("$5 and $10", None);
        check("$a}{_b$", None);
        check("$ x_1 $", None);
        check("$x_1", None);
        check("$", None);
        check("$$", None);
    }
}
