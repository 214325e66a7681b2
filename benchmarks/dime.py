"""An acquirer like DIME (Gadgil et al. 2024), a neural peer at unit prices. Needs the extra `neural`.

    MISERLY_DATA=... python benchmarks/dime.py [--seconds 80] [--workers 4] [--sets letter dna]

One network predicts the class from the values bought so far. Another one estimates, for every feature, by how
much its value would lower the cross-entropy of the first; the estimate is between 0 and the entropy of the
prediction. Both are trained together on the purchases that the second one makes, with random purchases among
them. A row buys the feature with the largest estimate, k times. The networks have two hidden layers of 128
units (256 for MNIST). The state with the best mean accuracy over k on the validation rows is kept.

The training, validation and test rows are those of the figures of GDFS, in the folder `anchors` beside the
data. The code is written from the description in the paper.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from common import table, write
from miserly.datasets import load

NAME = "dime"
SHOWN = (1, 2, 3, 5, 10, 15, 20)
BATCH = 1024
PRETRAINING = 0.25  # of the seconds of a set


@dataclass(frozen=True, eq=False)
class Split:
    """Standardised rows with 0 for missing values, and labels, of the three parts of a set."""

    rows: dict[str, Tensor]
    labels: dict[str, Tensor]
    n_classes: int
    n_bought: int

    @classmethod
    def read(cls, name: str, device: str) -> Split:
        folder = Path(os.environ["MISERLY_DATA"]).parent / "anchors"
        figures = json.loads((folder / "gdfs.json").read_text(encoding="utf-8"))["results"][name]
        places, data = np.load(folder / "gdfs_splits.npz"), load(name)
        classes, y = np.unique(data.y, return_inverse=True)
        X = np.asarray(data.X, dtype=np.float64)
        train = X[places[f"{name}_tr"]]
        centre, scale = np.nanmean(train, axis=0), np.nanstd(train, axis=0) + 1e-6
        X = np.nan_to_num((X - centre) / scale).clip(-6.0, 6.0)
        parts = {"train": "tr", "validation": "va", "test": "te"}
        rows = {part: places[f"{name}_{end}"] for part, end in parts.items()}
        return cls(
            {part: torch.tensor(X[i], dtype=torch.float32, device=device) for part, i in rows.items()},
            {part: torch.tensor(y[i], device=device) for part, i in rows.items()},
            len(classes),
            max(map(int, figures["accuracy_at_k"])),
        )


def network(n_in: int, n_hidden: int, n_out: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for width_in, width_out in ((n_in, n_hidden), (n_hidden, n_hidden)):
        layers += [nn.Linear(width_in, width_out), nn.ReLU(), nn.Dropout(0.3)]
    return nn.Sequential(*layers, nn.Linear(n_hidden, n_out))


class Acquirer(nn.Module):
    """The two networks over masked rows."""

    def __init__(self, n_features: int, n_classes: int, n_hidden: int) -> None:
        super().__init__()
        self.predictor = network(2 * n_features, n_hidden, n_classes)
        self.values = network(2 * n_features, n_hidden, n_features)

    def logits(self, rows: Tensor, mask: Tensor) -> Tensor:
        return self.predictor(torch.cat([rows * mask, mask], dim=1))

    def worths(self, rows: Tensor, mask: Tensor, logits: Tensor) -> Tensor:
        """The estimated gain of every feature, at most the entropy of the prediction."""
        log_p = torch.log_softmax(logits.detach(), dim=1)
        entropy = -(log_p.exp() * log_p).sum(dim=1, keepdim=True)
        return torch.sigmoid(self.values(torch.cat([rows * mask, mask], dim=1))) * entropy

    @torch.no_grad()
    def accuracies(self, rows: Tensor, labels: Tensor, n_bought: int) -> list[float]:
        """The accuracy after each purchase."""
        self.eval()
        mask, found = torch.zeros_like(rows), []
        for _ in range(n_bought):
            worth = self.worths(rows, mask, self.logits(rows, mask))
            best = worth.masked_fill(mask > 0, -1.0).argmax(dim=1)
            mask[torch.arange(len(rows), device=rows.device), best] = 1.0
            found.append(float((self.logits(rows, mask).argmax(dim=1) == labels).float().mean()))
        self.train()
        return found


def pretrain(model: Acquirer, split: Split, seconds: float) -> None:
    """Train the predictor on random sets of features, of all sizes up to the largest one bought."""
    rows, labels = split.rows["train"], split.labels["train"]
    step = torch.optim.Adam(model.predictor.parameters(), lr=1e-3)
    n, d = rows.shape
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        chosen = torch.randint(n, (BATCH,), device=rows.device)
        size = torch.randint(split.n_bought + 1, (BATCH, 1), device=rows.device)
        mask = (torch.rand(BATCH, d, device=rows.device).argsort(dim=1).argsort(dim=1) < size).float()
        loss = nn.functional.cross_entropy(model.logits(rows[chosen], mask), labels[chosen])
        step.zero_grad()
        loss.backward()
        step.step()


def train(model: Acquirer, split: Split, seconds: float) -> None:
    """Train both networks on the purchases that they make; keep the best state on the validation rows."""
    begun, share, best, kept, n_batches = time.monotonic(), 0.0, -1.0, model.state_dict(), 0
    step = torch.optim.Adam(model.parameters(), lr=1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(step, lambda _: 1.0 - 0.9 * share)
    while share < 1.0:
        chosen = torch.randint(len(split.rows["train"]), (BATCH,), device=split.labels["train"].device)
        buy_and_learn(
            model,
            step,
            split.rows["train"][chosen],
            split.labels["train"][chosen],
            split.n_bought,
            0.5 * (1 - share) ** 2,
        )
        schedule.step()
        n_batches += 1
        share = min(1.0, (time.monotonic() - begun) / seconds)
        if n_batches % 25 == 0 or share == 1.0:
            found = model.accuracies(split.rows["validation"], split.labels["validation"], split.n_bought)
            if np.mean(found) > best:
                best, kept = float(np.mean(found)), copy.deepcopy(model.state_dict())
    model.load_state_dict(kept)


def buy_and_learn(
    model: Acquirer, step: Any, rows: Tensor, labels: Tensor, n_bought: int, random_share: float
) -> None:
    """Buy features for a batch of rows, one after the other, with a step of both networks after each."""
    mask, every = torch.zeros_like(rows), torch.arange(len(rows), device=rows.device)
    for _ in range(n_bought):
        before = model.logits(rows, mask)
        worth = model.worths(rows, mask, before)
        draw = torch.rand_like(worth).masked_fill(mask > 0, -1.0).argmax(dim=1)
        best = worth.detach().masked_fill(mask > 0, -1.0).argmax(dim=1)
        bought = torch.where(torch.rand(len(rows), device=rows.device) < random_share, draw, best)
        mask = mask.clone()
        mask[every, bought] = 1.0
        after = nn.functional.cross_entropy(model.logits(rows, mask), labels, reduction="none")
        gain = (nn.functional.cross_entropy(before, labels, reduction="none") - after).detach()
        loss = after.mean() + nn.functional.mse_loss(worth[every, bought], gain)
        step.zero_grad()
        loss.backward()
        step.step()


def measure(name: str, seconds: float, seed: int) -> dict[str, Any]:
    """Train on one set; the test accuracy after each purchase."""
    torch.manual_seed(seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    split = Split.read(name, device)
    d = split.rows["train"].shape[1]
    model = Acquirer(d, split.n_classes, 256 if name == "mnist" else 128).to(device)
    pretrain(model, split, PRETRAINING * seconds)
    train(model, split, (1.0 - PRETRAINING) * seconds)
    found = model.accuracies(split.rows["test"], split.labels["test"], split.n_bought)
    return {
        "set": name,
        "d": d,
        "n_train": len(split.rows["train"]),
        "seconds": seconds,
        "accuracy_at_k": {str(k): round(one, 4) for k, one in enumerate(found, 1)},
    }


def page(found: list[dict[str, Any]], seconds: float, device: str) -> str:
    rows = [[one["set"], *(one["accuracy_at_k"].get(str(k), "") for k in SHOWN)] for one in found]
    opening = " ".join((__doc__ or "").strip().split("\n\n")[2].split())
    return f"""# An acquirer like DIME

`python benchmarks/dime.py --seconds {seconds:g}`: that long for each set, on {device}, one seed. The
figures are accuracies on test rows after k purchases.

{opening}

{table(["set", *(f"k = {k}" for k in SHOWN)], rows)}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=80.0)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sets", nargs="*")
    given = parser.parse_args()
    folder = Path(os.environ["MISERLY_DATA"]).parent / "anchors"
    known = json.loads((folder / "gdfs.json").read_text(encoding="utf-8"))["results"]
    sets = given.sets or list(known)
    with ProcessPoolExecutor(given.workers, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(measure, name, given.seconds, given.seed) for name in sets]
        found = []
        for one in waiting:
            found.append(one.result())
            print(json.dumps(found[-1]), flush=True)
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    write(NAME, page(found, given.seconds, device), found, quick=False)


if __name__ == "__main__":
    main()
