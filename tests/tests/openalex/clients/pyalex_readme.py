"""What the README of pyalex asks, at api.openalex.org, which is a mirror here. PINAKES is the mirror's own address."""

import os

import requests
from pyalex import Authors, Fields, Funders, Institutions, Publishers, Sources, Topics, Works, autocomplete
from pyalex.api import QueryError

own = os.environ["PINAKES"]


def count(path):
    return requests.get(own + path, timeout=30).json()["meta"]["count"]


work = Works().filter(has_abstract=True, has_doi=True).get(per_page=1)[0]
short = work["id"].rsplit("/", 1)[1]
record = requests.get(f"{own}/outputs/HX_{short}", timeout=30).json()
assert work["title"] == record["title"]
assert work["abstract"] == record["abstract"]
for identifier in [short, work["id"], work["doi"]]:
    assert Works()[identifier]["id"] == work["id"], identifier
other = Works().get(per_page=2)[1]
assert {found["id"] for found in Works()[[work["id"], other["id"]]]} == {work["id"], other["id"]}
assert Works().random()["id"].startswith("https://openalex.org/W")

of_2004 = count("/outputs?filter=year:2004")
assert Works().filter(publication_year=2004).count() == of_2004 > 50
for method in ["cursor", "page"]:
    pages = list(Works().filter(publication_year=2004).paginate(method=method, per_page=20))
    ids = [found["id"] for page in pages for found in page]
    assert len(ids) == len(set(ids)) == of_2004, method
assert Works().filter(publication_year=2020, is_oa=True).count() == count("/outputs?filter=year:2020,is_oa:true")
assert Works().filter_gt(cited_by_count=100).count() == count("/outputs?filter=cited_by_count:>100")
assert Works().filter_lt(publication_year=2000).count() == count("/outputs?filter=year:<2000")
assert Works().filter_not(type="article").count() == count("/outputs?filter=type:!article")
either = Works().filter_or(doi=[work["doi"], other["doi"] or "https://doi.org/10.9999/none"]).count()
assert either == (2 if other["doi"] else 1)
both = Works().filter(institutions={"country_code": ["fr", "gb"]}).count()
assert both == count("/outputs?filter=authors.countries.code:FR,authors.countries.code:GB") > 0
assert Works().search("deep learning").count() == count("/outputs?search=deep+learning") > 0
assert Works().search_filter(title="deep learning").count() == count("/outputs?filter=title.search:deep learning")
cited = [found["cited_by_count"] for found in Works().sort(cited_by_count="desc").get(per_page=10)]
assert cited == sorted(cited, reverse=True)
assert set(Works().select(["id", "doi"]).get(per_page=1)[0]) == {"id", "doi"}
assert len(Works().sample(20, seed=535).get(per_page=20)) == 20
groups = Works().group_by("type").get()
assert sum(group["count"] for group in groups) == count("/outputs?filter=type:!null")
cites = Works().filter(cites=short).count()
assert cites == count(f"/outputs?filter=references:HX_{short}")

institution = Institutions().filter(has_ror=True).get(per_page=1)[0]
assert Institutions()[institution["ror"]]["id"] == institution["id"]
by_ror = Works().filter(authorships={"institutions": {"ror": institution["ror"]}}).count()
own_id = institution["id"].rsplit("/", 1)[1]
assert by_ror == count(f"/outputs?filter=authors.affiliations.id:HX_{own_id}")
assert Authors().search_filter(display_name="smith").count() == count("/authors?filter=name.search:smith")
assert Sources()["issn:0028-0836"]["display_name"] == "Nature"
assert Topics().filter(domain={"id": "https://openalex.org/domains/4"}).count() == count("/topics?filter=domain.id:4")
assert Publishers().search("springer").get()[0]["id"].startswith("https://openalex.org/P")
assert Funders().get(per_page=1)[0]["id"].startswith("https://openalex.org/F")
assert Fields().count() == count("/fields")
first = institution["display_name"].split()[0]
assert any(found["id"].startswith("https://openalex.org/I") for found in Institutions().autocomplete(first))
assert autocomplete(first)
try:
    Works().filter(favourite_colour="red").get()
except QueryError as error:
    assert "favourite_colour" in str(error)
else:
    raise AssertionError("an unknown key is answered")
print("pyalex works")
