"""Client: open the answer."""

import numpy as np
from task import PASSPHRASE, files

import securefair as sf


def main() -> None:
    own = files()
    student = sf.Student.load(own.secret / "student.keystore", PASSPHRASE)
    opened = student.open((own.download / "answer.bin").read_bytes())
    np.save(own.logits, opened.released)


if __name__ == "__main__":
    main()
