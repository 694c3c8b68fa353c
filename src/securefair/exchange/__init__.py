"""Encrypted distillation as a library call: three lines on each side, bytes in between.

    student = Student(spec)                       # hospital A: data and secret key
    request = student.request(samples)
    ...                                           # bytes
    answer = Teacher(model, spec).answer(request)  # hospital B: a private model
    ...                                           # bytes
    opened = student.open(answer)                 # hospital A: logits, or a loss

The participants of a collaboration use the same two classes, message by message.
"""
