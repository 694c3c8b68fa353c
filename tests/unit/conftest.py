"""Fixtures that the laboratory shares."""

import logging

import pytest

from support.populations import hospitals, make_hospital

__all__ = ["hospitals", "make_hospital"]


class Logged(logging.Handler):
    """Keeps what is logged."""

    def __init__(self):
        super().__init__()
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())


@pytest.fixture
def logged():
    """Messages of warnings that are logged during a test."""
    handler = Logged()
    logging.getLogger().addHandler(handler)
    try:
        yield handler.messages
    finally:
        logging.getLogger().removeHandler(handler)
