//! A stream of all groups of a list, in JSON lines or a table.
//!
//! The groups are counted and sorted before the reply's head. The stream holds their codes and counts, and names
//! them piece by piece:
//!
//! ```text
//! key,key_display_name,count,cited_by_count.count,…       header of CSV
//! 2020,2020,87,87,0,1204,13.8,5                            a group a row
//! ```

use std::mem;

use pinakes_format::formats::table::RowWriter;
use pinakes_format::query::{GROUP_MEASURES, Group, GroupList, GroupValue, Grouping, Query};
use pinakes_format::snapshot::Snapshot;
use pinakes_format::storage::ReadError;

use crate::define::{Answer, Call};
use crate::list::groups::{MEMBERS, render_group};
use crate::list::stream::StreamRequest;
use crate::list::values::{display_name, render_number, render_value};
use crate::reply::pieces::{ListStream, PIECE_BYTES, PieceBudget, PieceError, PieceSource};
use crate::reply::{Detail, Reply};

/// Counts the groups of a list and begins their stream. The limits charge a group as a record.
pub fn answer(
    query: &Query,
    grouping: &Grouping,
    stream: StreamRequest,
    name: &str,
    call: &Call<'_>,
) -> Answer {
    let limits = call.limits();
    let time = limits.time();
    let groups =
        limits.run(|deadline| query.all_groups(grouping, call.snapshot, deadline, time))?;
    // All groups stay in memory until the client has read them.
    let (held, most) = (groups.held_bytes(), call.settings.held_bytes_max);
    if held > most {
        let reason = format!(
            "makes {} groups, of which about {} fit into the memory of a stream; narrow `filter`",
            groups.len(),
            (groups.len() as u64).saturating_mul(most as u64) / held as u64
        );
        return Ok(Reply::bad_query(vec![Detail::new("group_by", &grouping.text, reason)]));
    }
    tracing::debug!(groups = groups.len(), format = stream.format.name(), "groups streamed");
    let list = ListStream {
        records: groups.len() as u64,
        weight: 1,
        media_type: stream.format.media_type(),
        file_name: Some(format!("{name}-groups.{}", stream.format.extension()).into()),
    };
    let header = header(grouping);
    let table = stream.table().map(RowWriter::new);
    let rows = GroupRows { groups, keys: grouping.keys(), table, header, next: 0 };
    Ok(Reply::in_pieces(Box::new(rows), Some(list)))
}

/// The names of the columns.
fn header(grouping: &Grouping) -> Vec<String> {
    let keys = MEMBERS.iter().take(grouping.keys()).flatten().map(|name| (*name).to_owned());
    let numbers = grouping.of.names().flat_map(|key| {
        let measures = ["count", "null"].into_iter().chain(GROUP_MEASURES);
        measures.map(move |measure| format!("{key}.{measure}"))
    });
    keys.chain(["count".to_owned()]).chain(numbers).collect()
}

/// Groups that are sent in pieces.
struct GroupRows {
    groups: GroupList,
    keys: usize,
    /// `None` for JSON lines.
    table: Option<RowWriter>,
    /// The names of the columns, until they are sent.
    header: Vec<String>,
    /// Position of the next group.
    next: usize,
}

fn cells_of(group: &Group, snapshot: &Snapshot) -> Result<Vec<Vec<u8>>, ReadError> {
    let mut fields: Vec<Vec<u8>> = Vec::with_capacity(8);
    for value in &group.values {
        fields.push(field_of(value, snapshot)?);
        fields.push(
            display_name(value, snapshot)?.map_or(Vec::new(), |name| name.as_bytes().to_vec()),
        );
    }
    fields.push(group.count.to_string().into_bytes());
    for of in &group.of {
        fields.push(of.count.to_string().into_bytes());
        fields.push(of.null.to_string().into_bytes());
        for at in 0..GROUP_MEASURES.len() {
            let mut field = Vec::new();
            if let Some(numbers) = of.numbers {
                render_number(Some(numbers[at]), &mut field);
            }
            fields.push(field);
        }
    }
    Ok(fields)
}

/// A value as a cell: its text, and nothing for null.
fn field_of(value: &GroupValue, snapshot: &Snapshot) -> Result<Vec<u8>, ReadError> {
    let mut field = Vec::new();
    match value {
        GroupValue::Null => {}
        GroupValue::Code(code) => field.extend_from_slice(snapshot.code(*code)?.as_bytes()),
        GroupValue::Text(text) => field.extend_from_slice(text.as_bytes()),
        GroupValue::Record { entity, id, .. } => entity.write_id(*id, &mut field),
        GroupValue::Boolean(_) | GroupValue::Integer(_) | GroupValue::Number(_) => {
            render_value(value, snapshot, &mut field)?;
        }
    }
    Ok(field)
}

impl PieceSource for GroupRows {
    fn held_bytes(&self) -> usize {
        self.groups.held_bytes() + self.table.as_ref().map_or(0, RowWriter::held_bytes)
    }

    fn next_piece(
        &mut self,
        snapshot: &Snapshot,
        budget: &PieceBudget,
        out: &mut Vec<u8>,
    ) -> Result<(), PieceError> {
        out.reserve(PIECE_BYTES + 1_024);
        // The first piece takes the header, so that later pieces have none.
        let header = mem::take(&mut self.header);
        if let Some(table) = self.table.as_mut().filter(|_| !header.is_empty()) {
            table.begin(out);
            table.write(header.iter().map(String::as_bytes), out)?;
        }
        while self.next < self.groups.len() && !budget.is_used(out.len()) {
            let group = self.groups.group(self.next, snapshot)?;
            match &mut self.table {
                Some(table) => {
                    let cells = cells_of(&group, snapshot)?;
                    table.write(cells.iter().map(Vec::as_slice), out)?;
                }
                None => {
                    let begin = out.len();
                    render_group(&group, self.keys, snapshot, out)
                        .inspect_err(|_| out.truncate(begin))?;
                    out.push(b'\n');
                }
            }
            self.next += 1;
        }
        if let Some(table) = self.table.as_mut().filter(|_| self.next == self.groups.len()) {
            table.finish(out)?;
        }
        Ok(())
    }

    fn is_done(&self) -> bool {
        self.next == self.groups.len()
    }
}
