# Open access by year, with httr2 and base R
#
# Run it in R or RStudio, or by `PINAKES=http://127.0.0.1:8080 Rscript r_httr2.R`.
# It needs `install.packages(c("httr2", "jsonlite"))`, or Debian's r-cran-httr2 and r-cran-jsonlite.

library(httr2)

base <- Sys.getenv("PINAKES", "http://127.0.0.1:8080")

# Reads one reply. The server says what is wrong with a request.
get <- function(path, ...) {
  request(base) |>
    req_url_path(path) |>
    req_url_query(...) |>
    req_error(body = function(reply) resp_body_string(reply)) |>
    req_perform() |>
    resp_body_string() |>
    jsonlite::fromJSON()
}

# Reads all pages of groups.
get_groups <- function(path, ...) {
  groups <- NULL
  for (page in seq_len(1000)) {
    reply <- get(path, ..., page = page, per_page = 100)
    groups <- rbind(groups, reply$group_by)
    if (NROW(groups) >= reply$meta$groups_count) break
  }
  groups
}

# ---- Works by year and status ----
# The server counts: no record is read.
groups <- get_groups("/outputs", group_by = "year,open_access.oa_status", filter = "year:>2000")
groups$key2[is.na(groups$key2)] <- "unknown"
counts <- xtabs(count ~ key + key2, groups)
print(counts)

# ---- Share of open access ----
is_open <- !(colnames(counts) %in% c("closed", "unknown"))
share <- rowSums(counts[, is_open, drop = FALSE]) / rowSums(counts)
print(round(share, 2))

# ---- The most cited works ----
page <- get("/outputs", filter = "year:>2000", sort = "cited_by_count:desc", per_page = 10)
print(page$results[, c("id", "year", "cited_by_count")])
cat(sprintf("works %d\n", page$meta$count))
stopifnot(sum(counts) == page$meta$count)
