"""A site's results: its own model and its own report; nothing of its peers but their names."""

from __future__ import annotations

from pathlib import Path

import msgspec
import torch

from securefair.collaboration.state import decode_state
from securefair.deployment.agreeing import model_of, shape_of
from securefair.deployment.host import STATE, template_state
from securefair.deployment.place import STORE, project_of, read_settings
from securefair.deployment.site import stored_records
from securefair.deployment.status import status_of
from securefair.errors import StorageError
from securefair.report import write_bytes, write_json, write_json_lines
from securefair.storage import Access, Store

MODEL_FORMAT = 1


def export_site(folder: Path, out: Path) -> list[Path]:
    """Write `model.npz`-like weights, rounds and status into a new folder.

    Returns:
        The files that were written.

    Raises:
        StorageError: no round has been computed, or the folder holds something.
        SecureFairError: the site's folder cannot be read.
    """
    project = project_of(folder)
    if out.exists() and any(out.iterdir()):
        raise StorageError("this folder is not empty", where=str(out))
    with Store.open(folder / STORE, access=Access.READ) as store, store.view() as tx:
        data, records = tx.memory.get(STATE), stored_records(tx)
    if data is None:
        raise StorageError("this site has no model yet", where=str(folder))
    features, classes = shape_of(project.terms)
    model = decode_state(data, template_state(model_of(project.terms.config), features, classes))
    weights = {
        name: tensor.detach().to(torch.float64).numpy()
        for name, tensor in model.model.state_dict().items()
    }
    content = {
        "format": MODEL_FORMAT,
        "site": read_settings(folder).name,
        "project": project.digest.hex(),
        "kind": project.terms.config.model.kind,
        "features": features,
        "classes": classes,
        "weights": {
            name: {"shape": list(array.shape), "values": array.astype("<f8").tobytes()}
            for name, array in weights.items()
        },
    }
    return [
        write_bytes(out / "model.msgpack", msgspec.msgpack.encode(content), private=True),
        write_json_lines(out / "rounds.jsonl", records),
        write_json(out / "status.json", status_of(folder)),
    ]
