"""Rules of lists that the document does not state: Schemathesis leaves out the requests that break them."""

import schemathesis

# `group_by` counts records, and shows none of them.
NOT_OF_GROUPS = {"select", "sample", "seed", "format"}
# `format` sends the whole list.
NOT_OF_STREAMS = {"page", "per_page"}
# Names in these parameters must differ.
NAMES = {"group_by", "of", "select"}


def has_repeated(text):
    names = [name.strip() for name in str(text).split(",")]
    return len(names) != len(set(names))


@schemathesis.hook
def filter_case(context, case):
    query = case.query or {}
    names = set(query)
    if any(has_repeated(query[name]) for name in names & NAMES):
        return False
    if "format" in names and names & NOT_OF_STREAMS:
        return False
    if "group_by" in names and names & NOT_OF_GROUPS:
        return False
    return "seed" not in names or "sample" in names
