//! Sort keys of orders, and the columns that hold them.

use std::io::{self, Read, Write};

/// Precedes a value. A row without a value has a zero byte.
const PRESENT: u8 = 1;

/// The sort key of a row in an order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum SortValue {
    /// A number that ascends with the value.
    Number(u64),
    Text(SortText),
}

/// A text that sorts by its folded form, then by the text itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SortText {
    /// The first bytes of the folded text. Most texts differ in them, which saves a memory access.
    head: u64,
    /// The folded text, then the text.
    both: Box<[u8]>,
    folded_bytes: u32,
}

impl SortText {
    pub fn new(folded: &str, text: &str) -> SortText {
        // A text is shorter than 4 GiB, because a line has at most 1 GiB.
        let both = [folded.as_bytes(), text.as_bytes()].concat();
        SortText::from_parts(both.into_boxed_slice(), folded.len() as u32)
    }

    fn from_parts(both: Box<[u8]>, folded_bytes: u32) -> SortText {
        let head = head(&both[..folded_bytes as usize]);
        SortText { head, both, folded_bytes }
    }

    /// Appends what [`SortKey::read`] reads.
    pub fn push(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.both.len() as u64).to_le_bytes());
        out.extend_from_slice(&self.folded_bytes.to_le_bytes());
        out.extend_from_slice(&self.both);
    }

    fn halves(&self) -> (&[u8], &[u8]) {
        self.both.split_at(self.folded_bytes as usize)
    }
}

impl PartialOrd for SortText {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for SortText {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.head.cmp(&other.head).then_with(|| self.halves().cmp(&other.halves()))
    }
}

/// A sort key that a sorter can write to disk.
pub(crate) trait SortKey: Ord + Send + Sync + Sized {
    fn write(&self, out: &mut impl Write) -> io::Result<()>;

    fn read(input: &mut impl Read) -> io::Result<Self>;

    fn heap_bytes(&self) -> usize;
}

impl SortKey for u64 {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.to_le_bytes())
    }

    fn read(input: &mut impl Read) -> io::Result<u64> {
        read_number(input)
    }

    fn heap_bytes(&self) -> usize {
        0
    }
}

impl SortKey for SortText {
    fn write(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&(self.both.len() as u64).to_le_bytes())?;
        out.write_all(&self.folded_bytes.to_le_bytes())?;
        out.write_all(&self.both)
    }

    fn read(input: &mut impl Read) -> io::Result<SortText> {
        let mut both = vec![0; read_number(input)? as usize];
        let folded_bytes = read_row(input)?;
        input.read_exact(&mut both)?;
        if folded_bytes as usize > both.len() {
            return Err(io::Error::other("a folded text is longer than both texts"));
        }
        Ok(SortText::from_parts(both.into_boxed_slice(), folded_bytes))
    }

    fn heap_bytes(&self) -> usize {
        self.both.len()
    }
}

/// The first eight bytes of a folded text or a stem, as a number that sorts alike. Neither has a zero byte, so shorter
/// texts sort first.
pub(crate) fn head(text: &[u8]) -> u64 {
    let mut head = [0; 8];
    let length = text.len().min(8);
    head[..length].copy_from_slice(&text[..length]);
    u64::from_be_bytes(head)
}

pub(crate) fn read_number(input: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    input.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

pub(crate) fn read_row(input: &mut impl Read) -> io::Result<u32> {
    let mut bytes = [0; 4];
    input.read_exact(&mut bytes)?;
    Ok(u32::from_le_bytes(bytes))
}

/// Appends the sort key of a row to a column.
pub(crate) fn push_value(value: Option<&SortValue>, column: &mut Vec<u8>) {
    column.push(if value.is_some() { PRESENT } else { 0 });
    match value {
        None => {}
        Some(SortValue::Number(number)) => column.extend_from_slice(&number.to_le_bytes()),
        Some(SortValue::Text(text)) => text.push(column),
    }
}

/// Reads a value of a column; `None` if the row has none.
pub(crate) fn read_optional<R: Read, T>(
    input: &mut R,
    read: impl FnOnce(&mut R) -> io::Result<T>,
) -> io::Result<Option<T>> {
    let mut present = [0];
    input.read_exact(&mut present)?;
    if present == [PRESENT] { read(input).map(Some) } else { Ok(None) }
}
