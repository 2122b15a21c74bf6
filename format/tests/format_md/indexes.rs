//! A reader of lists and orders written from FORMAT.md alone.

use crate::files::Archive;

/// The keys of an entity in the block of section 16: lists and orders, by number, and paths of names.
#[derive(Default)]
pub struct Keys {
    pub lists: Vec<(String, String)>,
    pub orders: Vec<(String, String)>,
    pub targets: Vec<(String, String)>,
    /// The paths of the keys of each counted order.
    pub counted: Vec<Vec<String>>,
    pub names: Vec<String>,
}

impl Keys {
    pub fn parse(block: &str, entity: &str) -> Keys {
        let mut keys = Keys::default();
        let lines = block.lines().skip_while(|line| *line != entity).skip(1);
        for line in lines.take_while(|line| line.starts_with("  ")) {
            let (what, rest) = line.trim_start().split_once(' ').unwrap();
            if what == "names" {
                keys.names = rest.trim_start().split(", ").map(str::to_string).collect();
                continue;
            }
            if matches!(what, "texts" | "text" | "crossed") {
                continue;
            }
            let (number, rest) = rest.trim_start().split_once("  ").unwrap();
            if what == "counted" {
                assert_eq!(keys.counted.len(), number.parse::<usize>().unwrap());
                keys.counted.push(rest.split(", ").map(str::to_string).collect());
                continue;
            }
            let (path, facts) = rest.split_once(": ").unwrap();
            let kept = match what {
                "lists" => &mut keys.lists,
                "order" => &mut keys.orders,
                _ => &mut keys.targets,
            };
            assert_eq!(kept.len(), number.parse::<usize>().unwrap());
            kept.push((path.to_string(), facts.to_string()));
        }
        keys
    }

    pub fn number(kept: &[(String, String)], path: &str) -> usize {
        kept.iter().position(|(known, _)| known == path).expect(path)
    }
}

/// The rows of a container.
pub fn container(bytes: &[u8], count: usize) -> Vec<u32> {
    match count {
        65_536 => (0..65_536).collect(),
        0..=4_096 => {
            bytes.chunks(2).map(|row| u16::from_le_bytes([row[0], row[1]]).into()).collect()
        }
        _ => (0..65_536).filter(|row| bytes[*row as usize / 8] & (1 << (row % 8)) != 0).collect(),
    }
}

pub fn container_bytes(count: usize) -> usize {
    match count {
        65_536 => 0,
        0..=4_096 => 2 * count,
        _ => 8_192,
    }
}

/// The rows of postings that lie between two places.
pub fn postings(archive: &Archive, from: usize, to: usize, is_long: bool) -> Vec<u32> {
    let u32 = |at| archive.u32(at);
    if !is_long {
        return (from..to).step_by(4).map(u32).collect();
    }
    let chunks = u32(from) as usize;
    let entry = |at: usize| [0, 4, 8].map(|field| u32(from + 4 + 12 * at + field));
    let mut rows = Vec::new();
    for at in 0..chunks {
        let ([chunk, before, begin], [_, until, end]) = (entry(at), entry(at + 1));
        assert_eq!(rows.len(), before as usize);
        let bytes = &archive.0[from + begin as usize..from + end as usize];
        let count = (until - before) as usize;
        assert_eq!(bytes.len(), container_bytes(count));
        rows.extend(container(bytes, count).iter().map(|low| chunk * 65_536 + low));
    }
    assert_eq!(entry(chunks)[0], u32::MAX);
    assert_eq!(from + entry(chunks)[2] as usize, to);
    rows
}

/// The term of a text already in the form it is compared in.
pub fn text_term(text: &str) -> Vec<u8> {
    blake3::hash(text.as_bytes()).as_bytes()[..12].to_vec()
}

pub fn integer_term(value: i64) -> Vec<u8> {
    (value as u64 ^ 0x8000_0000_0000_0000).to_be_bytes().to_vec()
}

/// The lists of one number.
pub struct Lists<'a> {
    archive: &'a Archive,
    terms_from: usize,
    pub terms: usize,
    width: usize,
}

impl<'a> Lists<'a> {
    pub fn open(archive: &'a Archive, number: usize) -> Lists<'a> {
        let directory = archive.0.len() - 24 * archive.rows();
        let field = |at: usize| archive.u64(directory + 24 * number + 8 * at) as usize;
        Lists { archive, terms_from: field(0), terms: field(1), width: field(2) }
    }

    pub fn term(&self, at: usize) -> &'a [u8] {
        &self.archive.0[self.terms_from + at * self.width..][..self.width]
    }

    /// Where the postings of a number lie, and whether they are long.
    pub fn place(&self, number: usize) -> (usize, usize, bool) {
        const LONG: u64 = 1 << 39;
        let at = self.terms_from + self.terms * self.width + 5 * number;
        let place =
            |at: usize| (0..5).map(|byte| u64::from(self.archive.0[at + byte]) << (8 * byte)).sum();
        let (from, to): (u64, u64) = (place(at), place(at + 5));
        ((from & !LONG) as usize, (to & !LONG) as usize, from & LONG != 0)
    }

    /// The number of rows, read without reading a row.
    pub fn count(&self, number: usize) -> usize {
        let (from, to, is_long) = self.place(number);
        if is_long {
            let chunks = self.archive.u32(from) as usize;
            self.archive.u32(from + 4 + 12 * chunks + 4) as usize
        } else {
            (to - from) / 4
        }
    }

    pub fn rows(&self, number: usize) -> Vec<u32> {
        let (from, to, is_long) = self.place(number);
        postings(self.archive, from, to, is_long)
    }

    /// The rows that have a term.
    pub fn find(&self, term: &[u8]) -> Vec<u32> {
        let found = (0..self.terms).find(|at| self.term(*at) == term);
        found.map(|at| self.rows(at)).unwrap_or_default()
    }

    pub fn presence(&self) -> Vec<u32> {
        self.rows(self.terms)
    }
}

/// One order.
pub struct Order<'a> {
    archive: &'a Archive,
    /// Whether ranks are rows.
    is_row_order: bool,
    pub values_from: usize,
    pub distinct: usize,
    pub valued: usize,
    starts_from: usize,
    rows_from: usize,
    codes_from: usize,
    width: usize,
    bits_from: usize,
    steps_from: usize,
    pub steps: usize,
}

impl<'a> Order<'a> {
    /// The order of a path among those of the text.
    pub fn open(archive: &'a Archive, keys: &Keys, path: &str) -> Order<'a> {
        let number = Keys::number(&keys.orders, path);
        let directory = archive.0.len() - 88 * keys.orders.len();
        let field = |at: usize| archive.u64(directory + 88 * number + 8 * at) as usize;
        Order {
            archive,
            is_row_order: keys.orders[number].1.ends_with(", the rows' own"),
            values_from: field(0),
            distinct: field(1),
            valued: field(2),
            starts_from: field(3),
            rows_from: field(4),
            codes_from: field(5),
            width: field(6),
            bits_from: field(7),
            steps_from: field(8),
            steps: field(9),
        }
    }

    pub fn row_at(&self, rank: usize) -> u32 {
        assert!(rank < self.archive.rows());
        match self.is_row_order {
            true => rank as u32,
            false => self.archive.u32(self.rows_from + 4 * rank),
        }
    }

    pub fn rows(&self) -> Vec<u32> {
        (0..self.archive.rows()).map(|rank| self.row_at(rank)).collect()
    }

    pub fn code_of(&self, row: u32) -> usize {
        let from = self.codes_from + row as usize * self.width;
        let bytes = &self.archive.0[from..from + self.width];
        bytes.iter().rev().fold(0, |code, byte| code << 8 | usize::from(*byte))
    }

    pub fn value(&self, code: usize) -> u64 {
        assert!(code < self.distinct);
        self.archive.u64(self.values_from + 8 * code)
    }

    /// The first rank of a value, by its code.
    pub fn start(&self, code: usize) -> usize {
        assert!(code < self.distinct && self.width < 4);
        self.archive.u32(self.starts_from + 4 * code) as usize
    }

    pub fn step(&self, step: usize) -> usize {
        self.archive.u32(self.steps_from + 4 * step) as usize
    }

    /// The number of the interval that holds a row.
    pub fn interval(&self, row: u32) -> usize {
        let bits = (usize::BITS - self.steps.leading_zeros()) as usize;
        let (chunk, low) = (row as usize / 65_536, row as usize % 65_536);
        let bit = |bit: usize| {
            let byte = self.archive.0[self.bits_from + 8_192 * (chunk * bits + bit) + low / 8];
            usize::from(byte >> (low % 8) & 1) << bit
        };
        (0..bits).map(bit).sum()
    }
}

/// A number of seven bits a byte, the lowest first, and where it ends.
fn leb128(archive: &Archive, at: usize) -> (usize, usize) {
    let end = (at..).find(|at| archive.0[*at] < 128).unwrap() + 1;
    let bytes = &archive.0[at..end];
    (bytes.iter().rev().fold(0, |number, byte| number << 7 | usize::from(byte & 127)), end)
}

/// One direction of `citations`.
pub struct Citations<'a> {
    archive: &'a Archive,
    /// Lists hold rows below this number.
    bound: u64,
    lists: usize,
    places_from: usize,
    present: (usize, usize, bool),
    pub links: usize,
}

impl<'a> Citations<'a> {
    /// The references, or with `reversed` the citations.
    pub fn open(archive: &'a Archive, reversed: bool) -> Citations<'a> {
        let directory = archive.0.len() - 96 + 48 * usize::from(reversed);
        let field = |at: usize| archive.u64(directory + at) as usize;
        let (records, rows) = (archive.published(), archive.rows());
        let (lists, bound) = if reversed { (rows, records) } else { (records, rows) };
        let present = (field(8), field(16), field(24) == 1);
        let bound = bound as u64;
        Citations { archive, bound, lists, places_from: field(32), present, links: field(40) }
    }

    pub fn present(&self) -> Vec<u32> {
        let (from, to, is_long) = self.present;
        postings(self.archive, from, to, is_long)
    }

    /// The rows of a list.
    pub fn rows(&self, list: usize) -> Vec<u32> {
        let block = list / 64;
        let lengths_from = self.archive.u64(self.places_from + 8 * block) as usize;
        let (mut at, mut lengths) = (lengths_from, Vec::new());
        for _ in 0..(self.lists - 64 * block).min(64) {
            let (length, end) = leb128(self.archive, at);
            lengths.push(length);
            at = end;
        }
        let to = lengths_from - lengths[list % 64 + 1..].iter().sum::<usize>();
        let from = to - lengths[list % 64];
        if from == to {
            return Vec::new();
        }
        let (count, from) = leb128(self.archive, from);
        if count > 4_096 {
            return postings(self.archive, from + 1, to, self.archive.0[from] == 1);
        }
        let bytes = &self.archive.0[from..to];
        let mut bits = bytes.iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1));
        let mut rows = Vec::new();
        interpolated(&mut bits, count as u64, (0, self.bound), &mut rows);
        assert!(bits.all(|bit| bit == 0));
        rows
    }
}

/// The rows that a record refers to, at a path of `targets`.
pub fn targets(archive: &Archive, keys: &Keys, path: &str, record: usize) -> Vec<u32> {
    let number = Keys::number(&keys.targets, path);
    let directory = archive.0.len() - 24 * keys.targets.len();
    let field = |path: usize, at: usize| archive.u64(directory + 24 * path + 8 * at) as usize;
    let (places, width) = (field(number, 0), field(number, 1));
    let blocks = archive.rows().div_ceil(64);
    let begin = if number == 0 { 64 } else { field(number - 1, 0) + 8 * blocks };
    let mut at = begin + archive.u64(places + 8 * (record / 64)) as usize;
    let mut lengths = Vec::new();
    for _ in 0..(archive.rows() - record / 64 * 64).min(64) {
        let (length, end) = leb128(archive, at);
        lengths.push(length);
        at = end;
    }
    let from = at + width * lengths[..record % 64].iter().sum::<usize>();
    let bytes = &archive.0[from..from + width * lengths[record % 64]];
    let row = |bytes: &[u8]| bytes.iter().rev().fold(0, |row, byte| row << 8 | u32::from(*byte));
    bytes.chunks(width).map(row).collect()
}

/// The counts of frequent terms.
pub struct Crossings<'a> {
    pub archive: &'a Archive,
    /// Where the postings of each term begin, and the number of their lists.
    pub terms: Vec<(u64, u32)>,
}

impl Crossings<'_> {
    pub fn open(archive: &Archive) -> Crossings<'_> {
        let end = archive.0.len() - 8;
        let count = archive.u64(end) as usize;
        let from = |term: usize| end - 12 * (count - term);
        let terms = (0..count).map(|term| (archive.u64(from(term)), archive.u32(from(term) + 8)));
        Crossings { archive, terms: terms.collect() }
    }

    fn chunks(&self) -> usize {
        self.archive.rows().div_ceil(65_536)
    }

    /// The rows that have both terms, by chunk.
    pub fn common(&self, one: usize, other: usize) -> Vec<u32> {
        let terms = self.terms.len();
        let mut pairs =
            (0..terms).flat_map(|first| (first + 1..terms).map(move |next| (first, next)));
        let pair = pairs.position(|pair| pair == (one, other)).unwrap();
        let from = 64 + 4 * self.chunks() * pair;
        (0..self.chunks()).map(|chunk| self.archive.u32(from + 4 * chunk)).collect()
    }

    /// The rows by rank of a counted order with two keys, the sums of each term, and its counts.
    pub fn counted(&self, keys: &Keys, number: usize) -> (Vec<u32>, Vec<Vec<u32>>, Vec<Vec<u8>>) {
        let (rows, terms) = (self.archive.rows(), self.terms.len());
        let (stretches, blocks) = (rows.div_ceil(8_192), rows.div_ceil(64));
        let rows_of = |keys: &Vec<String>| if keys.len() == 2 { rows } else { 0 };
        let bytes = |keys| 4 * rows_of(keys) + terms * (4 * stretches + blocks);
        let before: usize = keys.counted[..number].iter().map(bytes).sum();
        let from = 64 + 4 * self.chunks() * (terms * terms.saturating_sub(1) / 2) + before;
        let counts = from + 4 * rows_of(&keys.counted[number]);
        let sums = counts + terms * blocks;
        let numbers = |from: usize, count: usize| (0..count).map(move |at| from + 4 * at);
        let numbers = |from, count| numbers(from, count).map(|at| self.archive.u32(at)).collect();
        (
            numbers(from, rows_of(&keys.counted[number])),
            (0..terms).map(|term| numbers(sums + 4 * term * stretches, stretches)).collect(),
            (0..terms)
                .map(|term| self.archive.0[counts + term * blocks..][..blocks].to_vec())
                .collect(),
        )
    }
}

/// Reads `n` rows between two bounds, in order.
fn interpolated(
    bits: &mut impl Iterator<Item = u8>,
    n: u64,
    (low, high): (u64, u64),
    rows: &mut Vec<u32>,
) {
    if n == 0 {
        return;
    }
    let v = high - low - n + 1;
    let b = v.ilog2();
    let s = (2 << b) - v;
    let mut x = (0..b).map(|bit| u64::from(bits.next().unwrap()) << bit).sum::<u64>();
    if x >= s {
        x = s + (x - s) * 2 + u64::from(bits.next().unwrap());
    }
    let row = low + n / 2 + x;
    let mut after = Vec::new();
    interpolated(bits, n / 2, (low, row), rows);
    interpolated(bits, n - 1 - n / 2, (row + 1, high), &mut after);
    rows.push(row as u32);
    rows.append(&mut after);
}
