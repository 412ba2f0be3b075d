"""What `mkdocs build` adds to the pages in docs: pages from the code, and links."""
