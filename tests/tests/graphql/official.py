"""Asks a server by gql, which validates every question against the schema that introspection tells."""

import sys

from gql import Client, gql
from gql.transport.exceptions import TransportQueryError
from gql.transport.requests import RequestsHTTPTransport
from graphql import GraphQLError, GraphQLSchema, print_schema

transport = RequestsHTTPTransport(url=f"http://{sys.argv[1]}/graphql")
with Client(transport=transport, fetch_schema_from_transport=True) as session:
    schema = session.client.schema
    assert isinstance(schema, GraphQLSchema)
    assert "authors" in schema.query_type.fields
    assert "_2yr_mean_citedness" in schema.type_map["SummaryStats"].fields
    assert "type Authorship {" in print_schema(schema)

    question = gql(
        """
        query Papers($id: ID!, $size: Int = 10) {
          author(id: $id) { ...Who outputs(per_page: $size) { meta { count } results { id name } } }
          outputs(filter: "is_oa:true", sort: "cited_by_count:desc", per_page: $size) {
            results { id cited_by_count authors { author { ...Who } } }
          }
          autocomplete(query: "nat") { results { id entity_type } }
        }
        fragment Who on Author { __typename id name }
        """
    )
    question.variable_values = {"id": "HX_A5900000001"}
    answer = session.execute(question)
    assert answer["author"]["name"] == "Albert Einstein", answer
    assert answer["author"]["__typename"] == "Author", answer
    assert answer["author"]["outputs"]["meta"]["count"] == 8, answer
    counts = [output["cited_by_count"] for output in answer["outputs"]["results"]]
    assert len(counts) == 10 and counts == sorted(counts, reverse=True), counts
    assert answer["autocomplete"]["results"][0]["entity_type"] == "source", answer

    try:
        session.execute(gql("{ author(id: \"A1\") { id } }"))
        raise AssertionError("an id without its prefix is told of")
    except TransportQueryError as error:
        assert error.errors[0]["message"] == "Only HX_ prefixed IDs are allowed", error.errors
        assert error.data == {"author": None}, error.data

    try:
        session.execute(gql("{ author(id: \"HX_A1\") { nope } }"))
        raise AssertionError("the client knows what members there are")
    except GraphQLError as error:
        assert "nope" in error.message, error.message

print("all is well")
