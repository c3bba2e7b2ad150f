"""Series, forests and timelines, which join several features over time, for pages and reports."""
