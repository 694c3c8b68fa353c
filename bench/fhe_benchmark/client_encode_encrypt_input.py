"""Client: encrypt the features."""

import numpy as np
from stage import files, key_file

import securefair as sf


def main() -> None:
    own = files()
    key = key_file(own.secret)
    student = sf.Student.load(own.secret / "student.keystore", passphrase_file=key)
    features = np.load(own.features)
    request = student.request(features)
    (own.upload / "request.bin").write_bytes(request)


if __name__ == "__main__":
    main()
