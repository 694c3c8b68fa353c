"""Server: evaluate the model on the encrypted images."""

from concurrent.futures import ThreadPoolExecutor

from task import files, key_file

import securefair as sf


def main() -> None:
    own = files()
    key = key_file(own.server)
    with ThreadPoolExecutor(1) as reader:  # a start is work of one core
        request = reader.submit((own.upload / "request.bin").read_bytes)
        teacher = sf.Teacher.load(own.server / "teacher.keystore", passphrase_file=key)
        answer = teacher.answer(request.result(), peer="client")
    (own.download / "answer.bin").write_bytes(answer)


if __name__ == "__main__":
    main()
