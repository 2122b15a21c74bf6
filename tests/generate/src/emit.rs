//! Writes JSON by hand into a byte buffer: numbers, ids, decimals, lists. Text passed to it must need no escaping.

/// Something that writes itself as part of a JSON text.
pub(crate) trait Emit {
    /// Appends the JSON bytes.
    fn emit(&self, out: &mut Vec<u8>);
}

/// Appends each item in turn: `put!(out; "\"year\":", year, ",")`. String literals are written as they stand.
macro_rules! put {
    ($out:expr; $($item:expr),+ $(,)?) => {{
        let out: &mut Vec<u8> = $out;
        $( $crate::emit::Emit::emit(&$item, out); )+
    }};
}
pub(crate) use put;

impl Emit for &str {
    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }
}

impl Emit for u64 {
    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(itoa::Buffer::new().format(*self).as_bytes());
    }
}

impl Emit for bool {
    fn emit(&self, out: &mut Vec<u8>) {
        put!(out; if *self { "true" } else { "false" });
    }
}

impl<T: Emit> Emit for Option<T> {
    fn emit(&self, out: &mut Vec<u8>) {
        match self {
            Some(value) => value.emit(out),
            None => put!(out; "null"),
        }
    }
}

/// A JSON string around what needs no escaping.
pub(crate) struct Quoted<T>(pub(crate) T);

impl<T: Emit> Emit for Quoted<T> {
    fn emit(&self, out: &mut Vec<u8>) {
        put!(out; "\"", self.0, "\"");
    }
}

/// An OpenAlex id, written as the quoted URL `"https://openalex.org/W1"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Id(pub(crate) &'static str, pub(crate) u64);

impl Emit for Id {
    #[inline]
    fn emit(&self, out: &mut Vec<u8>) {
        put!(out; "\"https://openalex.org/", self.0, self.1, "\"");
    }
}

/// An id without its URL and quotes: `W1`.
pub(crate) struct Short(pub(crate) Id);

impl Emit for Short {
    fn emit(&self, out: &mut Vec<u8>) {
        put!(out; self.0.0, self.0.1);
    }
}

/// `.0` divided by ten to the power `.1`, with all its digits.
#[derive(Clone, Copy)]
pub(crate) struct Decimal(pub(crate) u64, pub(crate) u32);

impl Emit for Decimal {
    fn emit(&self, out: &mut Vec<u8>) {
        let scale = 10u64.pow(self.1);
        put!(out; self.0 / scale, ".");
        padded(out, self.0 % scale, self.1 as usize);
    }
}

/// A decimal with a sign.
pub(crate) struct Signed(pub(crate) i64, pub(crate) u32);

impl Emit for Signed {
    fn emit(&self, out: &mut Vec<u8>) {
        put!(out; if self.0 < 0 { "-" } else { "" }, Decimal(self.0.unsigned_abs(), self.1));
    }
}

/// `number` with leading zeros to `width` digits (at most 20).
pub(crate) fn padded(out: &mut Vec<u8>, number: u64, width: usize) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(number).as_bytes();
    out.extend_from_slice(&b"00000000000000000000"[..width.saturating_sub(digits.len())]);
    out.extend_from_slice(digits);
}

/// `[a,b,c]`, each item written by `each`.
pub(crate) fn list<T>(
    out: &mut Vec<u8>,
    items: impl IntoIterator<Item = T>,
    mut each: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    for (position, item) in items.into_iter().enumerate() {
        if position > 0 {
            out.push(b',');
        }
        each(out, item);
    }
    out.push(b']');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_json() {
        let check = |item: &dyn Emit, expected: &str| {
            let mut out = Vec::new();
            item.emit(&mut out);
            assert_eq!(out, expected.as_bytes());
        };
        check(&17u64, "17");
        check(&Decimal(5, 3), "0.005");
        check(&Signed(-1_234_567, 4), "-123.4567");
        check(&Id("W", 12), "\"https://openalex.org/W12\"");
        check(&Some(Quoted(Short(Id("T", 3)))), "\"T3\"");
        check(&None::<u64>, "null");
    }
}
