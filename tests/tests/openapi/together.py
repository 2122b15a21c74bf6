"""Rules of lists that the document does not state: Schemathesis leaves out the requests that break them."""

import schemathesis

# `group_by` counts records, and shows none of them; `sort` takes other keys than in its examples.
NOT_OF_GROUPS = {"select", "sample", "seed", "format", "sort"}
# `format` sends the whole list.
NOT_OF_STREAMS = {"page", "per_page"}
# Formats of reference managers have fixed members.
CITATIONS = {"bibtex", "ris", "csl-json"}
# Parameters whose grammars the document gives in words.
IN_WORDS = {"filter", "sort", "search", "search.exact"}
# Members that pages of lists have; single records and streams have more.
ON_PAGES = {"id", "name"}
# One search at a time.
SEARCHES = {"search", "search.exact"}
# Names in these parameters must differ.
NAMES = {"group_by", "of", "select"}


def names_in(text):
    return [name.strip() for name in str(text).split(",")]


def has_repeated(text):
    return len(names_in(text)) != len(set(names_in(text)))


def is_allowed(path, parameters):
    names = set(parameters)
    if any(has_repeated(parameters[name]) for name in names & NAMES):
        return False
    if "format" in names and names & NOT_OF_STREAMS:
        return False
    if str(parameters.get("format")) in CITATIONS and "select" in names:
        return False
    if "group_by" in names and names & NOT_OF_GROUPS:
        return False
    if names >= SEARCHES:
        return False
    # Lists sum up the groups of one key.
    if "of" in names and not path.startswith("/statistics/") and len(names_in(parameters.get("group_by", ","))) > 1:
        return False
    if "select" in names and "format" not in names and not set(names_in(parameters["select"])) <= ON_PAGES:
        return False
    return "seed" not in names or "sample" in names


@schemathesis.hook
def filter_case(context, case):
    form = case.body if isinstance(case.body, dict) else {}
    # A form has an example of `search` alone.
    if (IN_WORDS - {"search"}) & set(form):
        return False
    return is_allowed(case.path, case.query or {}) and is_allowed(case.path, form)


@schemathesis.hook
def map_query(context, query):
    """Takes values whose grammars the document gives in words from its examples."""
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
