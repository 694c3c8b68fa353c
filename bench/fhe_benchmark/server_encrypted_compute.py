"""Server: evaluate the model on the encrypted images."""

from task import files, key_file

import securefair as sf


def main() -> None:
    own = files()
    key = key_file(own.server)
    teacher = sf.Teacher.load(own.server / "teacher.keystore", passphrase_file=key)
    answer = teacher.answer((own.upload / "request.bin").read_bytes(), peer="client")
    (own.download / "answer.bin").write_bytes(answer)


if __name__ == "__main__":
    main()
