"""Research data sets, read from a folder, and who holds which of their samples."""
