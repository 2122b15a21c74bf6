// Prints the CSL-JSON that citation-js makes from a file of references.
//
// usage: node read_back.mjs MODULES FILE
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const [modules, file] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const { Cite } = require("@citation-js/core");
require("@citation-js/plugin-bibtex");
require("@citation-js/plugin-csl");
console.log(JSON.stringify(new Cite(readFileSync(file, "utf8")).data));
