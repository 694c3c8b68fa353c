"""Client: encrypt the features."""

import numpy as np
from task import CLASSES, PASSPHRASE, files

import securefair as sf


def main() -> None:
    own = files()
    student = sf.Student.load(own.secret / "student.keystore", PASSPHRASE)
    features = np.load(own.features)
    unlabelled = np.zeros(len(features), dtype=np.int64)  # labels play no part in this release
    request = student.request(sf.Samples(features, unlabelled, CLASSES))
    (own.upload / "request.bin").write_bytes(request)


if __name__ == "__main__":
    main()
