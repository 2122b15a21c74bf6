"""Rules of lists that the document does not state: Schemathesis leaves out the requests that break them."""

import schemathesis

# `group_by` counts records, and shows none of them; `sort` takes other keys than in its examples.
NOT_OF_GROUPS = {"select", "sample", "seed", "format", "sort", "columns"}
# `format` sends the whole list.
NOT_OF_STREAMS = {"page", "per_page"}
# Formats of reference managers have fixed members.
CITATIONS = {"bibtex", "ris", "csl-json"}
# Parameters of tables, and the formats of each; `columns` has its example without `select`.
OF_TABLES = {"columns": {"csv", "xlsx"}, "max_cell": {"csv", "xlsx"}, "bom": {"csv"}}
# A feed has records in an order of its own.
NOT_OF_FEEDS = {"select", "sample"}
# Parameters whose grammars the document gives in words.
IN_WORDS = {"filter", "sort", "search", "search.exact", "queries", "extend"}
# Members that pages of lists have; single records and streams have more.
ON_PAGES = {"id", "name"}
# One search at a time.
SEARCHES = {"search", "search.exact"}
# A name decides between people beside one of these.
HINTS = {"orcid", "affiliation", "title"}
# Names in these parameters must differ.
NAMES = {"group_by", "of", "select"}


def names_in(text):
    return [name.strip() for name in str(text).split(",")]


def has_repeated(text):
    return len(names_in(text)) != len(set(names_in(text)))


def is_question(path, parameters):
    """Whether the texts name one thing to match, and decide between people of one name."""
    given = {name for name, value in parameters.items() if str(value).strip()}
    if path == "/match/outputs":
        return bool(given) and not given >= {"text", "title"}
    return path != "/match/authors" or "text" not in given or bool(given & HINTS)


def is_allowed(path, parameters):
    names = set(parameters)
    if any(has_repeated(parameters[name]) for name in names & NAMES):
        return False
    if "format" in names and names & NOT_OF_STREAMS:
        return False
    if str(parameters.get("format")) in CITATIONS and "select" in names:
        return False
    if any(str(parameters.get("format")) not in formats for name, formats in OF_TABLES.items() if name in names):
        return False
    if str(parameters.get("columns")) == "references" and "select" in names:
        return False
    if str(parameters.get("format")) == "atom" and names & NOT_OF_FEEDS:
        return False
    if "group_by" in names and names & NOT_OF_GROUPS:
        return False
    # `extend` has an example in the form alone, and stands beside no `queries`.
    if names >= SEARCHES or "extend" in names and path == "/reconcile":
        return False
    if path.startswith("/match/") and not is_question(path, parameters):
        return False
    # Lists sum up the groups of one key.
    if "of" in names and not path.startswith("/statistics/") and len(names_in(parameters.get("group_by", ","))) > 1:
        return False
    if "select" in names and "format" not in names and not set(names_in(parameters["select"])) <= ON_PAGES:
        return False
    return "seed" not in names or "sample" in names


@schemathesis.serializer("application/x-ndjson", "text/csv")
def lines(context, value):
    """Sends a text as JSON lines, or as the cell of a table; a body that is no text, as none."""
    if not isinstance(value, str):
        return b""
    if context.case.media_type == "text/csv" and not value.startswith("key,"):
        quoted = value.replace('"', '""')
        value = f'text\r\n"{quoted}"\r\n'
    return value.encode(errors="replace")


def examples_of(definitions):
    return [example["value"] for found in definitions for example in found.definition.get("examples", {}).values()]


@schemathesis.hook
def filter_case(context, case):
    form = case.body if isinstance(case.body, dict) else {}
    # Any text is a search; forms with other grammars are those of examples.
    if (IN_WORDS - {"search"}) & set(form) and form not in examples_of(case.operation.body):
        return False
    if case.method == "POST" and case.path.startswith(("/match/", "/reconcile")):
        return True
    return is_allowed(case.path, form or case.query or {})


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
    return query if context.operation.method == "post" else as_question(context.operation.path, query)


def as_question(path, query):
    """Makes texts a question: such texts alone are few."""
    query = query or {}
    if path == "/match/outputs" and not is_question(path, query):
        query.pop("title", None)
        query["year"] = "1991"
    if path == "/match/authors" and not is_question(path, query):
        query["title"] = "open access"
    return query
