"""Rules between the parameters of lists, which OpenAPI cannot state: Schemathesis leaves such requests out."""

import schemathesis

# `group_by` counts records, and shows none of them.
NOT_OF_GROUPS = {"select", "sample", "seed", "format"}
# `format` sends the whole list.
NOT_OF_STREAMS = {"page", "per_page"}


@schemathesis.hook
def filter_case(context, case):
    names = set(case.query or {})
    if "format" in names and names & NOT_OF_STREAMS:
        return False
    if "group_by" in names and names & NOT_OF_GROUPS:
        return False
    return "seed" not in names or "sample" in names
