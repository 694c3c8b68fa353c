"""Kinds of collaboration, a folder each."""
