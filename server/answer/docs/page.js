// Shows the description of the service this page came from.
// Relative, since a proxy may serve all paths below one of its own.
const description = "openapi.json";

// HEAD is GET without the body; that each path takes it is said once, in the text above them.
const withoutHeads = (document) => {
  for (const path of Object.values(document.paths)) {
    delete path.head;
  }
  return document;
};

const show = (document) =>
  SwaggerUIBundle({
    spec: withoutHeads(document),
    dom_id: "#docs",
    deepLinking: true,
    docExpansion: "list",
    displayRequestDuration: true,
    syntaxHighlight: { activated: true, theme: "agate" },
    // Asks nobody else whether the document is valid.
    validatorUrl: "none",
  });

const fail = (error) => {
  document.getElementById("docs").textContent =
    `${description} cannot be read: ${error.message}. Reload the page; the server's log may know more.`;
};

fetch(description)
  .then((response) => (response.ok ? response.json() : Promise.reject(new Error(`status ${response.status}`))))
  .then(show)
  .catch(fail);
