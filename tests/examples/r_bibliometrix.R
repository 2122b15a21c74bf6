# Works as the data frame of bibliometrix
#
# Run it: PINAKES=http://127.0.0.1:8080 Rscript r_bibliometrix.R
# It needs R alone; with the package bibliometrix it also prints an analysis.

server <- Sys.getenv("PINAKES", "http://127.0.0.1:8080")
members <- "id,doi,title,type,year,authors.name,primary_venue.source.name,cited_by_count,keywords,abstract,references"
address <- paste0(server, "/outputs?filter=type:article,year:%3E2000&format=csv&select=", members)
works <- read.csv(address, colClasses = "character", fileEncoding = "UTF-8", check.names = FALSE)

# Lists are separated by "; " in the CSV, and by ";" in the data frame. Texts are in capitals.
items <- function(column) toupper(gsub("; ", ";", works[[column]], fixed = TRUE))
text <- function(column) toupper(works[[column]])
M <- data.frame(
  AU = items("authors.name"), TI = text("title"), SO = text("primary_venue.source.name"), DT = text("type"),
  DE = items("keywords"), ID = items("keywords"), AB = text("abstract"), CR = items("references"),
  PY = as.integer(works[["year"]]), TC = as.integer(works[["cited_by_count"]]),
  DI = sub("https://doi.org/", "", works[["doi"]], fixed = TRUE), UT = works[["id"]], DB = "OPENALEX"
)
row.names(M) <- M$UT
class(M) <- c("bibliometrixDB", "data.frame")

cat("works", nrow(M), "\n")
cat("citations", sum(M$TC, na.rm = TRUE), "\n")
cat("columns", names(M), "\n")
if (requireNamespace("bibliometrix", quietly = TRUE)) {
  summary(bibliometrix::biblioAnalysis(M))
}
