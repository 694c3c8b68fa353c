"""Client: encrypt the features."""

import numpy as np
from task import PASSPHRASE, files

import securefair as sf


def main() -> None:
    own = files()
    student = sf.Student.load(own.secret / "student.keystore", PASSPHRASE)
    features = np.load(own.features)
    request = student.request(features)
    (own.upload / "request.bin").write_bytes(request)


if __name__ == "__main__":
    main()
