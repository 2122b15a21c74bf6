// Opens GraphiQL on the service this page came from.
const first = `# Ask what you need of records, and of the records they refer to.
# Control-Space completes, Control-Enter asks.
{
  outputs(per_page: 10, filter: "is_oa:true", sort: "cited_by_count:desc") {
    meta { count }
    results {
      id
      name
      year
      authors { name author { orcid { id } outputs_count } }
    }
  }
}
`;

// Its panes stand side by side.
const WIDTH_MIN = 720;
if (innerWidth < WIDTH_MIN) {
  const note = document.createElement("p");
  note.textContent = "GraphiQL needs a wider window. The pages for people work on this one.";
  document.getElementById("graphiql").before(note);
}

const fetcher = GraphiQL.createFetcher({ url: "graphql" });
ReactDOM.createRoot(document.getElementById("graphiql")).render(
  React.createElement(GraphiQL, { fetcher, defaultQuery: first, shouldPersistHeaders: false }),
);
