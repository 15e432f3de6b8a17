"""The table of docs/how-to/any-model.md, row by row: the very code that stands there, certified, attacked, reported."""

import re
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

import attribound as ab
from attribound.models import Fixed, FromProbabilities, load_model
from attribound.models.vit import ViT

PAGE = (Path(__file__).parent.parent / "docs" / "how-to" / "any-model.md").read_text()
SECTION = PAGE
ROWS = dict(re.findall(r"^\| (?!You have|---)(.+?) \| `(.+?)` \|$", SECTION, re.MULTILINE))
THREE_LINES, OWN_METHOD = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)


class Net(nn.Module):
    """A small CNN."""

    def __init__(self, channels: int = 1) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(channels, 4, 3), nn.ReLU(), nn.Flatten())
        self.head = nn.Linear(4 * 36, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x))


class TwoInputs(Net):
    def forward(self, x: Tensor, shift: Tensor) -> Tensor:
        return super().forward(x) + shift


class Entries(Net):
    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {"logits": super().forward(x), "features": self.features(x)}


class Sequence(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm, self.head = nn.LSTM(6, 8, batch_first=True), nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.lstm(x)[0][:, -1])


def hugging_face(kind: str, **sizes: int) -> nn.Module:
    """A model of random weights from a config; nothing is downloaded."""
    transformers = pytest.importorskip("transformers", reason="transformers is in the extra `dev`")
    config = getattr(transformers, kind + "Config")(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, num_labels=3, **sizes
    )
    name = {"ViT": "ViTForImageClassification", "Bert": "BertForSequenceClassification"}[kind]
    return getattr(transformers, name)(config)


def weights_file() -> None:
    """What people have: nets.py with a class, and its weights."""
    source = "from tests.test_any_model import Net\n"
    Path("nets.py").write_text(source)
    torch.save({"state_dict": Net().state_dict()}, "weights.pt")


def exported() -> None:
    rows = ({0: torch.export.Dim.AUTO},)
    torch.export.save(torch.export.export(Net().eval(), (torch.rand(2, 1, 8, 8),), dynamic_shapes=rows), "program.pt2")


def traced() -> None:
    torch.jit.trace(Net().eval(), torch.rand(2, 1, 8, 8)).save("program.pt")


def mlp(outputs: int) -> nn.Module:
    return nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, outputs))


def vit() -> nn.Module:
    return ViT(channels=3, size=8, patch=4, width=16, depth=1, heads=2)


IMAGE, COLOUR = (1, 8, 8), (3, 8, 8)
HAVE = {
    "a plain CNN": lambda: {"model": Net(), "x": torch.rand(IMAGE)},
    "BatchNorm or dropout": lambda: {
        "model": nn.Sequential(
            nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(), nn.Flatten(), nn.Linear(144, 3)
        ),
        "x": torch.rand(COLOUR),
    },
    "your own class and a file of weights": lambda: weights_file() or {"x": torch.rand(IMAGE)},
    "one logit, yes or no": lambda: {"model": mlp(1), "x": torch.rand(6)},
    "probabilities at the end": lambda: {"model": nn.Sequential(Net(), nn.Softmax(dim=1)), "x": torch.rand(IMAGE)},
    "two inputs": lambda: {"model": TwoInputs(), "x": torch.rand(IMAGE), "other": torch.rand(1, 3)},
    "a table and an MLP": lambda: {"model": mlp(2), "x": torch.rand(6).numpy()},
    "an LSTM over embeddings": lambda: {"model": Sequence(), "x": torch.randn(5, 6)},
    "a vision transformer": lambda: {"model": vit(), "x": torch.rand(COLOUR)},
    "Hugging Face ViT": lambda: {"model": hugging_face("ViT", image_size=8, patch_size=4), "x": torch.rand(COLOUR)},
    "Hugging Face BERT": lambda: {
        "model": hugging_face("Bert", vocab_size=20, max_position_embeddings=8),
        "x": torch.randn(5, 16),
        "mask": torch.ones(1, 5, dtype=torch.long),
    },
    "a dictionary as output, as timm gives": lambda: {"model": Entries(), "x": torch.rand(IMAGE)},
    "TorchScript": lambda: (
        torch.jit.trace(Net().eval(), torch.rand(2, 1, 8, 8)).save("program.pt") or {"x": torch.rand(IMAGE)}
    ),
    "`torch.export`": lambda: exported() or {"x": torch.rand(IMAGE)},
    "a method of your own": lambda: {
        "model": nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2)),
        "x": torch.rand(6),
    },
}


def test_the_page_and_this_file_know_the_same_rows() -> None:
    assert list(ROWS) == list(HAVE)
    assert len(THREE_LINES.strip().splitlines()) == 3
    assert all(len(code.splitlines()) == 1 for code in ROWS.values())


@pytest.mark.parametrize("row", HAVE)
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_row(row: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    torch.manual_seed(0)
    names = {"ab": ab, "torch": torch, "load_model": load_model, "Fixed": Fixed, "FromProbabilities": FromProbabilities}
    names |= HAVE[row]()
    exec(OWN_METHOD, names)
    exec(ROWS[row], names)
    exec(THREE_LINES, names)
    cert, worst = names["cert"], names["worst"]
    assert cert.status == "certified"
    assert worst.cosine >= cert.cosine(worst.length) - 0.05, "attacks beat no certificate"
    assert str(worst).startswith("AttackResult(method=ifia, epsilon=")
    assert cert.attribution.shape == cert.record.map_shape
    assert "<title>" in (tmp_path / "report.html").read_text()
