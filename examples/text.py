"""Which words of a mail provably matter? Words coloured by what is proved: hot, cold, or nothing.

A small transformer learns to tell spam from other mail; words come to it as vectors. Noise is added to the vectors, and
for mails it has not seen it is proved which words are among the tenth that speaks most for its decision in most noisy
readings, whatever change of the vectors up to epsilon somebody makes.

    attribound data fetch wordllama && attribound data fetch spam-assassin
    python examples/text.py --data data --mails 60 --samples 1024     # what results/text.md holds, a few minutes

Without `--data` it learns from generated sentences, in seconds.
"""

import argparse
import html
import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from captum.attr import InputXGradient
from safetensors.numpy import load_file
from torch import Tensor, nn

import attribound as ab
from attribound.report.figures.highlight import save_page
from attribound.rounding import lower_quantile, round_down

MOST_WORDS, DIM, SIGMA, HOTTEST = 48, 32, 0.5, 0.1
Text = tuple[list[str], int]
"""Words and label, 1 for spam."""
Vector = Callable[[str], np.ndarray]
_WORDS = {
    "plain": "the a we you meeting report lunch code patch list thanks monday please file team server look draft",
    "loud": "free money winner click offer cash",
}


class Reader(nn.Module):
    """One layer of attention over the words' vectors; the words are then weighed and added up."""

    classes = ("mail", "spam")

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.enter, self.places = nn.Linear(DIM, width), nn.Parameter(0.02 * torch.randn(MOST_WORDS, width))
        self.layer = nn.TransformerEncoderLayer(width, 4, 128, 0.1, "gelu", batch_first=True, norm_first=True)
        self.weigh, self.head = nn.Linear(width, 1), nn.Linear(width, 2)

    def forward(self, x: Tensor, missing: Tensor | None = None) -> Tensor:
        words = self.layer(self.enter(x) + self.places[: x.shape[1]], src_key_padding_mask=missing)
        weights = self.weigh(words)[..., 0]
        weights = weights if missing is None else weights.masked_fill(missing, -1e9)
        return self.head((weights.softmax(dim=1)[..., None] * words).sum(dim=1))


def real_mail(folder: Path) -> tuple[list[Text], list[Text], Vector]:
    """Mails of the SpamAssassin corpus; a word's vector is the mean of those of its pieces in WordLlama."""
    pieces = json.loads((folder / "wordllama" / "tokenizer.json").read_text())["model"]["vocab"]
    vectors = load_file(folder / "wordllama" / "embeddings.safetensors")["embedding.weight"].astype(np.float32)
    lines = (folder / "spam-assassin" / "mails.jsonl").read_text().splitlines()
    texts = {" ".join(words): (words, label) for words, label in map(_read, lines) if len(words) >= 12}
    mails = list(texts.values())  # the same mail counts once
    random.Random(0).shuffle(mails)
    return mails[:-600], mails[-600:], lambda word: vectors[_split(word.lower(), pieces)].mean(axis=0)


def _read(line: str) -> Text:
    """Subject and first words of a mail, without markup, addresses and the other headers."""
    mail = json.loads(line)
    head, _, body = mail["text"].partition("\n\n")
    subject = re.search(r"^Subject:(.*)$", head, re.MULTILINE)
    text = html.unescape(re.sub(r"(?is)<(script|style).*?</\1>|<[^>]*>", " ", body))
    text = re.sub(r"\S*[@/=\\]\S*|\S{25,}", " ", (subject[1] if subject else "") + " " + text)
    return re.findall(r"[A-Za-z]{2,}(?:'[a-z]+)?", text)[:MOST_WORDS], mail["label"]


def _split(word: str, pieces: dict[str, int]) -> list[int]:
    """The longest known pieces from the left."""
    rest, found = "▁" + word, []
    while rest:
        length = next((n for n in range(len(rest), 0, -1) if rest[:n] in pieces), 0)
        found += [pieces[rest[:length]]] if length else []
        rest = rest[max(length, 1) :]
    return found or [0]


def generated() -> tuple[list[Text], list[Text], Vector]:
    """Sentences of plain words; in spam some are of another kind."""
    rng = random.Random(0)
    plain, loud = (_WORDS[kind].split() for kind in ("plain", "loud"))
    texts = [
        ([rng.choice(loud if label and rng.random() < 0.2 else plain) for _ in range(14)], label)
        for label in (rng.randrange(2) for _ in range(600))
    ]
    words = {word: np.random.default_rng(n).normal(size=DIM) for n, word in enumerate(plain + loud)}
    return texts[:500], texts[500:], words.__getitem__


def embedder(texts: Sequence[Text], vector: Vector) -> Callable[[Sequence[str]], Tensor]:
    """From words to (words, DIM): the main directions of the learnt words' vectors, of deviation about 1."""
    known = {word: vector(word) for word in sorted({word for words, _ in texts for word in words})}
    every = np.stack(list(known.values()))
    _, sizes, directions = np.linalg.svd(every - every.mean(axis=0), full_matrices=False)
    basis = directions[:DIM].T * np.sqrt(len(every)) / sizes[:DIM].mean()

    def embed(words: Sequence[str]) -> Tensor:
        rows = np.stack([known[word] if word in known else vector(word) for word in words]) - every.mean(axis=0)
        placed = np.zeros((len(words), DIM), np.float32)
        placed[:, : basis.shape[1]] = rows @ basis
        return torch.from_numpy(placed)

    return embed


def padded(texts: Sequence[Text], embed: Callable[[Sequence[str]], Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Vectors, which places are empty, labels."""
    x, missing = torch.zeros(len(texts), MOST_WORDS, DIM), torch.ones(len(texts), MOST_WORDS, dtype=torch.bool)
    for row, (words, _) in enumerate(texts):
        x[row, : len(words)], missing[row, : len(words)] = embed(words), False
    return x, missing, torch.tensor([label for _, label in texts])


def train(x: Tensor, missing: Tensor, y: Tensor, epochs: int) -> Reader:
    """Learn from noisy vectors: what bears the noise has more to prove."""
    torch.manual_seed(0)
    model, steps = Reader(), epochs * len(torch.arange(len(x)).split(64))
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=steps)
    for _ in range(epochs):
        for chosen in torch.randperm(len(x)).split(64):
            noisy = x[chosen] + SIGMA * torch.randn(len(chosen), *x.shape[1:])
            loss = nn.functional.cross_entropy(model(noisy, missing[chosen]), y[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return model.eval().requires_grad_(False)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, help="folder with wordllama/ and spam-assassin/")
    parser.add_argument("--mails", type=int, default=3)
    parser.add_argument("--samples", type=int, default=512)
    parser.add_argument("--epsilon", type=float, default=0.1)
    parser.add_argument("--out", type=Path, help="also write a page of coloured words")
    asked = parser.parse_args()
    learnt, test, vector = generated() if asked.data is None else real_mail(asked.data)
    embed = embedder(learnt, vector)
    model = train(*padded(learnt, embed), epochs=6)
    x, missing, y = padded(test, embed)
    right = float((model(x, missing).argmax(dim=1) == y).double().mean())
    print(f"{len(learnt)} texts learnt, {len(test)} others: {right:.1%} classified as labelled")

    # How much each word speaks for the class: vector times gradient, added up word by word.
    field = ab.Unit(ab.Tokens(ab.Captum(InputXGradient(model)), of="signed"))
    shown, reaches = [], []
    for item, (words, _) in enumerate(test[: asked.mails]):
        noise = ab.Gaussian(SIGMA)
        cert = ab.certify(field, embed(words), noise=noise, samples=asked.samples, cells=(HOTTEST,), seed=0, item=item)
        shown.append(ab.highlight(cert, words, HOTTEST, asked.epsilon))
        reaches.append(float(np.where(cert.cells(HOTTEST, 0.0) > 0, cert.cell_radius(HOTTEST), 0.0).max()))
        if item < 3:
            print(f"\nwhy {model.classes[cert.target]}: {shown[-1]}")
    median = round_down(lower_quantile(reaches, 0.5), 3)
    with_hot, somewhere = sum(bool(one.hot) for one in shown), sum(reach > 0 for reach in reaches)
    print(
        f"\n{with_hot} of {len(shown)} texts have a word that is proved hot at epsilon {asked.epsilon:g}, {somewhere} "
        f"at some epsilon; the hottest word's radius is {median} in the median text"
    )
    if asked.out is not None:
        save_page(asked.out, shown, "Words that provably matter")


if __name__ == "__main__":
    main()
