"""Find errors in annotation, and choose which documents to annotate next."""
