"""Models that hospitals bring to answer their peers: by name, as files, or as estimators.

Each form is a file here and a line in `register`.
"""

from typing import TYPE_CHECKING

from securefair.errors import on_first_use

if TYPE_CHECKING:
    from securefair.model.teachers.estimator import EstimatorTeacher as EstimatorTeacher
    from securefair.model.teachers.register import teacher_of as teacher_of

__getattr__, __dir__, __all__ = on_first_use(__name__)
