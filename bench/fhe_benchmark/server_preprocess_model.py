"""Server: keep the model and what was agreed, for the process that answers."""

from stage import files, new_key
from task import UNSTRETCHED, model, spec

import securefair as sf


def main() -> None:
    own = files()
    agreed = spec(own.images)
    bits, store = min(30, agreed.flooding_bits), own.server / "account"
    teacher = sf.Teacher(model(), agreed, min_flooding_bits=bits, store=store, create_store=True)
    key = new_key(own.server)
    teacher.save(own.server / "teacher.keystore", passphrase_file=key, cost=UNSTRETCHED)


if __name__ == "__main__":
    main()
