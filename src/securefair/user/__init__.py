"""What a user brings: tables, code, a new project."""
