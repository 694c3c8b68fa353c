"""Server: evaluate the model on the encrypted images."""

from task import PASSPHRASE, files

import securefair as sf


def main() -> None:
    own = files()
    teacher = sf.Teacher.load(own.server / "teacher.keystore", PASSPHRASE)
    answer = teacher.answer((own.upload / "request.bin").read_bytes(), peer="client")
    (own.download / "answer.bin").write_bytes(answer)


if __name__ == "__main__":
    main()
