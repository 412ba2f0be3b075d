"""What a spaCy user touches: component, factories, gold, annotations and scorer."""
