"""Reads a file of references with a tool, and compares every reference with its record.

usage: read_back.py TOOL FILE RECORDS
TOOL: bibtexparser, rispy, csl-json, or bibtex-as-csl for CSL-JSON that another tool made from BibTeX
RECORDS: JSON lines of the same outputs in the same order
Prints a line for each difference, and the number of references; exits with 1 if there are differences.
"""

import html
import json
import re
import sys
import unicodedata
import urllib.parse

# Type of an output -> class of the reference; articles in conferences are papers.
CLASSES = {
    "article": "article", "journal-article": "article", "review": "article", "letter": "article",
    "editorial": "article", "erratum": "article", "retraction": "article",
    "conference-paper": "paper", "conference-abstract": "paper", "proceedings-article": "paper",
    "book": "book", "monograph": "book", "edited-book": "book", "reference-book": "book",
    "book-chapter": "chapter", "book-section": "chapter", "book-part": "chapter", "reference-entry": "entry",
    "dissertation": "thesis", "preprint": "preprint", "posted-content": "preprint", "report": "report",
    "standard": "standard", "dataset": "dataset", "database": "dataset", "software": "software",
}
# Class -> type and member of the container in each format.
BIBTEX = {
    "article": ("article", "journal"), "paper": ("inproceedings", "booktitle"), "book": ("book", "series"),
    "chapter": ("incollection", "booktitle"), "entry": ("incollection", "booktitle"),
    "thesis": ("phdthesis", "school"), "report": ("techreport", "institution"),
}
RIS = {
    "article": ("JOUR", "T2"), "paper": ("CONF", "T2"), "book": ("BOOK", "T2"), "chapter": ("CHAP", "T2"),
    "entry": ("ENCYC", "T2"), "thesis": ("THES", "PB"), "report": ("RPRT", "PB"), "preprint": ("UNPB", "PB"),
    "standard": ("STAND", "PB"), "dataset": ("DATA", "PB"), "software": ("COMP", "PB"), "other": ("GEN", "PB"),
}
CSL = {
    "article": ("article-journal", "container-title"), "paper": ("paper-conference", "container-title"),
    "book": ("book", "collection-title"), "chapter": ("chapter", "container-title"),
    "entry": ("entry-encyclopedia", "container-title"), "thesis": ("thesis", "publisher"),
    "report": ("report", "publisher"), "preprint": ("article", "publisher"), "standard": ("standard", "publisher"),
    "dataset": ("dataset", "publisher"), "software": ("software", "publisher"), "other": ("document", "publisher"),
}
MEMBERS = ["type", "title", "authors", "year", "venue", "volume", "pages", "doi"]


def line(text):
    """A text in one line."""
    words = re.split(r"[\s\x00-\x1f\x7f-\x9f]+", text or "")
    return " ".join(word for word in words if word)


def plain(text):
    """A title without its markup."""
    for _ in range(2):
        text = html.unescape(text or "").replace("\xa0", " ")
    tags = r"a|abbr|b|bold|br|div|em|emph|i|inf|it|italic|li|p|sb|sc|scp|span|strong|sub|sup|title|u|math|m[a-z]+"
    return line(re.sub(rf"</?([a-z]+:)?({tags})(\s[^>]*)?/?>", "", text, flags=re.IGNORECASE))


def letters(text):
    """The letters and digits of a name in order of the alphabet: readers put the parts of names in different orders."""
    return "".join(sorted(c for c in unicodedata.normalize("NFKC", text or "") if c.isalnum()))


def class_of(record):
    source = ((record.get("primary_venue") or {}).get("source") or {}).get("type")
    kind = CLASSES.get(record.get("type"))
    if source == "conference" and record.get("type") in ("article", "journal-article", "review"):
        return "paper"
    return kind or ("article" if source == "journal" else "other")


def expected(record):
    biblio = record.get("biblio") or {}
    pages = dict.fromkeys(line(page) for page in (biblio.get("first_page"), biblio.get("last_page")) if page)
    source = (record.get("primary_venue") or {}).get("source") or {}
    doi = record.get("doi") or ""
    return {
        "type": class_of(record),
        "title": plain(record.get("title") or record.get("name")),
        "authors": [letters(author["name"]) for author in record.get("authors") or [] if line(author["name"])],
        "year": str(record["year"]) if record.get("year") is not None else "",
        "venue": plain(source.get("name")),
        "volume": line(biblio.get("volume")),
        "pages": "-".join(pages),
        "doi": urllib.parse.unquote(doi.removeprefix("https://doi.org/")),
    }


def read_bibtexparser(path):
    import bibtexparser
    from bibtexparser import middlewares
    from pylatexenc.latex2text import LatexNodes2Text

    def decode(text):
        # The library has another sign for this command.
        return LatexNodes2Text(keep_comments=True).latex_to_text(text).replace("\u02c6", "^")

    library = bibtexparser.parse_file(path, append_middleware=[middlewares.SeparateCoAuthors()])
    assert not library.failed_blocks, library.failed_blocks[:3]
    assert len({entry.key for entry in library.entries}) == len(library.entries), "two entries have one key"
    for entry in library.entries:
        fields = {name: field.value for name, field in entry.fields_dict.items()}
        containers = {member for _, member in BIBTEX.values()} | {"publisher"}
        venues = [(member, decode(fields[member])) for member in containers if member in fields]
        yield {
            "type": (entry.entry_type, *[member for member, _ in venues]),
            "title": decode(fields.get("title", "")),
            "authors": [decode(name) for name in fields.get("author", [])],
            "year": fields.get("year", ""),
            "venue": venues[0][1] if venues else "",
            "volume": decode(fields.get("volume", "")),
            "pages": decode(fields.get("pages", "")),
            "doi": urllib.parse.unquote(fields.get("doi", "")),
        }


def read_rispy(path):
    import rispy

    with open(path, encoding="utf-8", newline="") as file:
        references = rispy.load(file, skip_unknown_tags=False)
    for reference in references:
        venues = [(tag, reference[name]) for tag, name in [("T2", "secondary_title"), ("PB", "publisher")]
                  if name in reference]
        yield {
            "type": (reference["type_of_reference"], *[tag for tag, _ in venues]),
            "title": reference.get("title", ""),
            "authors": reference.get("authors", []),
            "year": reference.get("year", ""),
            "venue": venues[0][1] if venues else "",
            "volume": reference.get("volume", ""),
            "pages": "-".join(dict.fromkeys(
                reference[member] for member in ("start_page", "end_page") if reference.get(member))),
            "doi": reference.get("doi", ""),
        }


def read_csl(path):
    with open(path, encoding="utf-8") as file:
        items = json.load(file)
    for item in items if isinstance(items, list) else [items]:
        containers = ["container-title", "collection-title", "publisher"]
        venues = [(member, item[member]) for member in containers if item.get(member)]
        names = item.get("author", [])
        parts = ["given", "dropping-particle", "non-dropping-particle", "family", "suffix", "literal", "name"]
        yield {
            "type": (item["type"], *[member for member, _ in venues]),
            "title": item.get("title", ""),
            "authors": [" ".join(name.get(part, "") for part in parts) for name in names],
            "year": str(item["issued"]["date-parts"][0][0]) if item.get("issued") else "",
            "venue": venues[0][1] if venues else "",
            "volume": str(item.get("volume", "")),
            "pages": item.get("page", ""),
            "doi": urllib.parse.unquote(item.get("DOI", "")),
        }


def main(tool, path, records):
    with open(records, encoding="utf-8") as lines:
        records = [json.loads(text) for text in lines]
    read = {"bibtexparser": read_bibtexparser, "rispy": read_rispy}.get(tool, read_csl)
    references = list(read(path))
    differences = 0
    if len(references) != len(records):
        print(f"{len(references)} references of {len(records)} records")
        differences += 1
    for reference, record in zip(references, records):
        of_record = expected(record)
        kind = of_record["type"]
        table = {"bibtexparser": BIBTEX, "bibtex-as-csl": BIBTEX, "rispy": RIS}.get(tool, CSL)
        of_record["type"] = table.get(kind, ("misc", "publisher"))[:2 if of_record["venue"] else 1]
        reference["authors"] = [letters(name) for name in reference["authors"]]
        # CSL has tags of its own, and a formula, a sub- or a superscript is TeX in BibTeX.
        reference["title"] = re.sub(r"</?(i|sub|sup)>", "", reference["title"])
        if not of_record["venue"]:
            # The lines do not show the printed name of a source without a record.
            reference["venue"], reference["type"] = "", reference["type"][:1]
        title = of_record["title"]
        if title != line(record.get("title") or record.get("name")) or "$" in title:
            reference["title"], of_record["title"] = letters(reference["title"]), letters(title)
            title = of_record["title"]
        if tool.startswith("bib") and title.count("{") != title.count("}"):
            # The tools drop the commands for braces without a counterpart.
            for of in (reference, of_record):
                for member in ("title", "volume", "pages"):
                    of[member] = line(re.sub("[{}]", "", of[member]))
        for of in (reference, of_record):
            # A page may hold dashes itself.
            of["pages"] = re.sub("[-– ]+", "-", of["pages"]).strip("-")
        if tool == "bibtex-as-csl":
            # Tools change capitals, quotes and dashes to typographic ones, and have tables of types of their own.
            for of in (reference, of_record):
                of["type"] = ""
                for member in ("title", "venue", "volume", "pages"):
                    of[member] = letters(of[member].casefold())
        for member in MEMBERS:
            if reference[member] != of_record[member]:
                print(f"{record['id']} {member}: {reference[member]!r:.300} instead of {of_record[member]!r:.300}")
                differences += 1
    print(f"{len(references)} references, {differences} differences")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
