"""Client: make keys, keep the secret one, hand out the public ones."""

from stage import files, new_key
from task import UNSTRETCHED, spec

import securefair as sf


def main() -> None:
    own = files()
    student = sf.Student(spec(own.images))
    key = new_key(own.secret)
    student.save(own.secret / "student.keystore", passphrase_file=key, cost=UNSTRETCHED)
    keys = student.public_keys
    (own.public / "encryption.bin").write_bytes(keys.encryption)
    (own.public / "evaluation.bin").write_bytes(keys.evaluation)


if __name__ == "__main__":
    main()
