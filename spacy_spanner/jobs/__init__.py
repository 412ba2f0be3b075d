"""Long work that can be stopped and resumed."""
