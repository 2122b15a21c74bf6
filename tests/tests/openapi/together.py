"""Rules of lists that the document does not state: Schemathesis leaves out the requests that break them."""

import schemathesis

# `group_by` counts records, and shows none of them.
NOT_OF_GROUPS = {"select", "sample", "seed", "format"}
# `format` sends the whole list.
NOT_OF_STREAMS = {"page", "per_page"}
# Parameters whose grammars the document gives in words.
IN_WORDS = {"filter", "sort"}
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


@schemathesis.hook
def map_query(context, query):
    """Takes `filter` and `sort` from the examples of the document, which gives their grammars in words."""
    examples = {
        parameter.name: [example["value"] for example in parameter.definition["examples"].values()]
        for parameter in context.operation.query
        if parameter.name in IN_WORDS and "examples" in parameter.definition
    }
    for name in IN_WORDS & set(query or {}):
        if name in examples:
            query[name] = examples[name][len(str(query[name])) % len(examples[name])]
        else:
            del query[name]
    return query
