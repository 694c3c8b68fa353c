"""A network of a few numbers in the place of torchvision's, and pictures that it tells apart."""

from types import SimpleNamespace

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save_file
from torch import nn


def network():
    return nn.Sequential(
        nn.Conv2d(3, 6, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Sequential(nn.Dropout(0.2), nn.Linear(6, 5)),
    )


def torchvision():
    """What `import_torchvision` gives, with one classifier."""
    return SimpleNamespace(
        models=SimpleNamespace(
            list_models=lambda **_: ["resnet18"], get_model=lambda *_, **__: network()
        )
    )


def write_weights(path, seed=0):
    """Weights of the network; returns them."""
    torch.manual_seed(seed)
    made = network()
    save_file(made.state_dict(), path)
    return made.eval()


def write_pictures(folder, count, seed=0, name="images"):
    """Pictures, red ones and blue ones in turn, and a table of them; returns its path."""
    rng = np.random.default_rng(seed)
    (folder / name).mkdir(parents=True)
    lines = ["photo,finding"]
    for at in range(count):
        pixels = rng.integers(0, 100, (36, 32, 3)).astype(np.uint8)
        pixels[:, :, 0 if at % 2 else 2] += 120
        Image.fromarray(pixels).save(folder / name / f"{at:02d}.png")
        lines.append(f"{name}/{at:02d}.png,{'red' if at % 2 else 'blue'}")
    table = folder / f"{name}.csv"
    table.write_text("\n".join(lines) + "\n")
    return table
