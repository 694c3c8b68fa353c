"""Client: open the answer."""

import numpy as np
from stage import files, key_file

import securefair as sf


def main() -> None:
    own = files()
    key = key_file(own.secret)
    student = sf.Student.load(own.secret / "student.keystore", passphrase_file=key)
    request = (own.upload / "request.bin").read_bytes()
    opened = student.open((own.download / "answer.bin").read_bytes(), request=request)
    np.save(own.logits, opened.released)


if __name__ == "__main__":
    main()
