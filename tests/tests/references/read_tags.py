"""Prints the metadata that extruct finds in a page, as JSON.

usage: read_tags.py FILE URL
"""

import json
import sys

import extruct
from lxml import html

path, url = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    page = file.read()
found = extruct.extract(page, base_url=url, syntaxes=["json-ld"], errors="strict")
tags = [(tag.get("name"), tag.get("content")) for tag in html.fromstring(page).iter("meta") if tag.get("name")]
print(json.dumps({"json-ld": found["json-ld"], "tags": tags}))
