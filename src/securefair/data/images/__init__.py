"""Pictures that a table names or that lie in a folder: found, checked, cut and read as bytes."""
