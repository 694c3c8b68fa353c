"""Server: evaluate the model on the encrypted images."""

from concurrent.futures import ThreadPoolExecutor

from stage import files, key_file


def main() -> None:
    own = files()
    with ThreadPoolExecutor(1) as reader:
        request = reader.submit((own.upload / "request.bin").read_bytes)
        import securefair as sf  # a start is work of one core: the other one reads meanwhile

        key = key_file(own.server)
        teacher = sf.Teacher.load(own.server / "teacher.keystore", passphrase_file=key)
        answer = teacher.answer(request.result(), peer="client")
    (own.download / "answer.bin").write_bytes(answer)


if __name__ == "__main__":
    main()
