//! The pages of the documentation, as files of the repository.

/// A page.
pub(super) struct DocsFile {
    /// Its last segment under `/docs`.
    pub(super) address: &'static str,
    /// Where links of other pages find it in the repository.
    pub(super) file: &'static str,
    pub(super) title: &'static str,
    pub(super) text: &'static str,
}

/// Pages that belong together.
pub(super) struct Shelf {
    pub(super) title: &'static str,
    pub(super) pages: &'static [DocsFile],
}

const fn page(address: &'static str, file: &'static str, title: &'static str, text: &'static str) -> DocsFile {
    DocsFile { address, file, title, text }
}

/// In the order of the navigation.
pub(super) const LIBRARY: [Shelf; 4] = [
    Shelf {
        title: "Use",
        pages: &[
            page("readme", "README.md", "First steps", include_str!("../../../../../README.md")),
            page("guide", "docs/guide.md", "Guide", include_str!("../../../../../docs/guide.md")),
            page("guarantees", "docs/guarantees.md", "Guarantees", include_str!("../../../../../docs/guarantees.md")),
            page(
                "training-spec",
                "docs/training-spec.md",
                "Training spec",
                include_str!("../../../../../docs/training-spec.md"),
            ),
            page("tables", "docs/tables.md", "Tables as they are", include_str!("../../../../../docs/tables.md")),
            page("formats", "docs/formats.md", "Formats of tables", include_str!("../../../../../docs/formats.md")),
            page("api", "docs/api.md", "HTTP API", include_str!("../../../../../docs/api.md")),
        ],
    },
    Shelf {
        title: "Run",
        pages: &[
            page("operations", "docs/operations.md", "Operations", include_str!("../../../../../docs/operations.md")),
            page("security", "docs/security.md", "Security", include_str!("../../../../../docs/security.md")),
            page(
                "performance",
                "docs/performance.md",
                "Performance",
                include_str!("../../../../../docs/performance.md"),
            ),
            page("accuracy", "docs/accuracy.md", "Accuracy", include_str!("../../../../../docs/accuracy.md")),
            page(
                "distributed",
                "docs/distributed.md",
                "Beyond one machine",
                include_str!("../../../../../docs/distributed.md"),
            ),
        ],
    },
    Shelf {
        title: "Theory",
        pages: &[
            page(
                "sampling",
                "docs/sampling.md",
                "Sampling of features",
                include_str!("../../../../../docs/sampling.md"),
            ),
            page("comparison", "docs/comparison.md", "Comparisons", include_str!("../../../../../docs/comparison.md")),
            page(
                "reproduction",
                "docs/reproduction.md",
                "The papers, repeated",
                include_str!("../../../../../docs/reproduction.md"),
            ),
            page(
                "derivations",
                "docs/derivations.md",
                "Derivations",
                include_str!("../../../../../docs/derivations.md"),
            ),
        ],
    },
    Shelf {
        title: "Inside",
        pages: &[
            page(
                "architecture",
                "docs/architecture.md",
                "Architecture",
                include_str!("../../../../../docs/architecture.md"),
            ),
            page(
                "artifact-format",
                "docs/artifact-format.md",
                "The file of a model",
                include_str!("../../../../../docs/artifact-format.md"),
            ),
            page(
                "decisions",
                "docs/decisions/README.md",
                "Decisions",
                concat!(
                    include_str!("../../../../../docs/decisions/README.md"),
                    "\n\n",
                    include_str!("../../../../../docs/decisions/bincode.md"),
                    "\n\n",
                    include_str!("../../../../../docs/decisions/rank-k-kernel.md"),
                    "\n\n",
                    include_str!("../../../../../docs/decisions/openblas.md"),
                    "\n\n",
                    include_str!("../../../../../docs/decisions/accept-loop.md"),
                    "\n\n",
                    include_str!("../../../../../docs/decisions/sqlite.md"),
                    "\n\n",
                    include_str!("../../../../../docs/decisions/threads-not-async.md"),
                    "\n\n",
                    include_str!("../../../../../docs/decisions/load-shedding.md"),
                    "\n\n",
                    include_str!("../../../../../docs/decisions/stop-by-unwinding.md"),
                    "\n\n",
                    include_str!("../../../../../docs/decisions/worker-without-blas.md"),
                    "\n\n",
                    include_str!("../../../../../docs/decisions/same-bits.md"),
                    "\n\n",
                    include_str!("../../../../../docs/decisions/plots.md"),
                    "\n\n",
                    include_str!("../../../../../docs/decisions/console.md"),
                ),
            ),
        ],
    },
];

/// Every page.
pub(super) fn pages() -> impl Iterator<Item = &'static DocsFile> {
    LIBRARY.iter().flat_map(|shelf| shelf.pages)
}

/// Where a link of a page leads: the address of another page, or none for a file that is not served. Choices are one page.
pub(super) fn target(from: &str, link: &str) -> Option<&'static str> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    let file = parts.join("/");
    let is_decision = file.starts_with("docs/decisions");
    pages().find(|page| page.file == file || (is_decision && page.address == "decisions")).map(|page| page.address)
}
