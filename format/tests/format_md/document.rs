//! FORMAT.md: its generated blocks and its tables.

use std::{fs, sync::Once};

use crate::blocks::generate;

const PATH: &str = "FORMAT.md";
const MARK: &str = "<!-- generated: ";

/// FORMAT.md as lines outside and inside its generated blocks.
pub struct Document {
    text: String,
}

impl Document {
    /// Reads FORMAT.md. With `PINAKES_BLESS=1`, the first call rewrites the generated blocks.
    pub fn read() -> Document {
        static BLESS: Once = Once::new();
        let read = || Document { text: fs::read_to_string(PATH).unwrap() };
        if std::env::var_os("PINAKES_BLESS").is_some() {
            BLESS.call_once(|| read().bless());
        }
        read()
    }

    fn bless(mut self) {
        let names: Vec<String> = self.names().map(str::to_owned).collect();
        for name in names {
            // Dumps come last in the text, and are made with the blocks before them.
            let block = crate::with_example(|directory| generate(&name, &self, directory));
            let range = self.range(&name);
            self.text.replace_range(range, &block);
        }
        fs::write(PATH, &self.text).unwrap();
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The blocks' names in their order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.text.lines().filter_map(|line| line.strip_prefix(MARK)?.strip_suffix(" -->"))
    }

    fn range(&self, name: &str) -> std::ops::Range<usize> {
        let head = format!("{MARK}{name} -->\n```text\n");
        let from = self.text.find(&head).expect(name) + head.len();
        let length = self.text[from - 1..].find("\n```\n").expect(name);
        from..from + length
    }

    /// A block's lines, each with its newline.
    pub fn block(&self, name: &str) -> &str {
        &self.text[self.range(name)]
    }

    /// Offset, size and name of each field of the header.
    pub fn header_grid(&self) -> Vec<(usize, usize, String)> {
        let lines =
            self.text.lines().skip_while(|line| *line != "|-------:|-----:|-------|------|");
        let rows = lines.skip(1).take_while(|line| line.starts_with('|'));
        rows.map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            (cells[1].parse().unwrap(), cells[2].parse().unwrap(), cells[3].to_string())
        })
        .collect()
    }
}
