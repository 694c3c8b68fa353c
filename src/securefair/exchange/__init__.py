"""Encrypted distillation as a library call: three lines on each side, bytes in between.

    student = Student(spec)                       # hospital A: data and secret key
    request = student.request(samples)
    ...                                           # bytes
    answer = Teacher(model, spec).answer(request)  # hospital B: a private model
    ...                                           # bytes
    opened = student.open(answer)                 # hospital A: logits, or a loss

The participants of a collaboration use the same two classes, message by message.
"""

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.exchange.compile import CompiledNetwork as CompiledNetwork
    from securefair.exchange.compile import bound_logits as bound_logits
    from securefair.exchange.compile import bounds_for as bounds_for
    from securefair.exchange.compile import compile_network as compile_network

__getattr__, __dir__, __all__ = on_first_use(__name__)
