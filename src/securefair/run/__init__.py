"""Runs that can be left and taken up again, and what they leave behind."""
