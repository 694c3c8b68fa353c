"""Client: make keys, keep the secret one, hand out the public ones."""

from task import PASSPHRASE, files, spec

import securefair as sf


def main() -> None:
    own = files()
    student = sf.Student(spec(own.images))
    student.save(own.secret / "student.keystore", PASSPHRASE)
    keys = student.public_keys
    (own.public / "encryption.bin").write_bytes(keys.encryption)
    (own.public / "evaluation.bin").write_bytes(keys.evaluation)


if __name__ == "__main__":
    main()
