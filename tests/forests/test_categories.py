"""Files that name their categories: the words are read, and the values are those of the library."""

import json

import numpy as np
import pyarrow
import pytest
import xgboost

import attribound as ab
from attribound.codebook import Codebook, Column
from attribound.errors import ArgumentError, StoredDataError
from attribound.forests import Forest, TreeShap
from tests.forests.models import lgb, table

WORDS = ("zwölf", "a b", "z")


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("categories"), np.random.default_rng(3)
    codes, numbers = rng.integers(0, 3, 300), rng.normal(size=300)
    listed = pyarrow.DictionaryArray.from_arrays(pyarrow.array(codes, pyarrow.int32()), WORDS)
    data = xgboost.DMatrix(
        pyarrow.table({"n": numbers, "c": listed}), (codes == 1) ^ (numbers > 0), enable_categorical=True
    )
    booster = xgboost.train({"objective": "binary:logistic", "max_depth": 3, "nthread": 1}, data, 4)
    for suffix in ("json", "ubj"):
        booster.save_model(folder / f"model.{suffix}")
    return folder, np.array([numbers, codes]).T, booster.predict(data, pred_contribs=True)[:, :-1]


@pytest.mark.parametrize("suffix", ["json", "ubj"])
def test_xgboost_with_words(known, suffix):
    folder, rows, values = known
    forest = Forest(folder / f"model.{suffix}")
    assert dict(forest.words) == {"c": WORDS}
    np.testing.assert_allclose(TreeShap(forest).values(rows)[:, 0], values, atol=1e-5)


class Named:
    """A pandas Series: values by name, an array to numpy."""

    def __init__(self, **values):
        self.values, self.index = values, list(values)

    def items(self):
        return self.values.items()

    def __array__(self, dtype=None, copy=None):
        return np.array(list(self.values.values()), dtype)


def test_rows_in_the_models_own_words(known):
    """Not in the order of a codebook that was learned elsewhere: that is refused."""
    shap = TreeShap(Forest(known[0] / "model.ubj"))
    said, meant = Named(c="z", n=0.25), np.array([0.25, WORDS.index("z")])
    told = ab.tolerance(shap, said, "columns", scale=Named(c=1.0, n=0.5))
    assert told.row.tolist() == meant.tolist()
    assert told.units.tolist() == [0.5, 1.0]
    assert told.together.reach == ab.tolerance(shap, meant, "columns", scale=[0.5, 1.0]).together.reach
    assert ", z" in told.letter() or "(z)" in told.letter()
    with pytest.raises(ArgumentError, match="the codebook calls the categories of 'c' a b, z, zwölf, the model zwölf"):
        ab.tolerance(shap, said, "columns", codebook=Codebook({"c": Column(words=tuple(sorted(WORDS)))}))


def test_certificates_take_rows_in_the_models_words(known):
    field = ab.Unit(TreeShap(Forest(known[0] / "model.ubj")))
    noise = ab.Gaussian(0.25, scale=[1.0, 0.0])
    said, meant = (
        ab.certify(field, x, noise=noise, samples=64, seed=0) for x in (Named(c="z", n=0.25), np.array([0.25, 2.0]))
    )
    assert said.record.input_sha256 == meant.record.input_sha256


def test_a_category_that_is_named_twice_is_refused(known):
    folder = known[0]
    stored = json.loads((folder / "model.json").read_text())
    column = stored["learner"]["gradient_booster"]["model"]["cats"]["enc"][1]
    column["offsets"], column["values"] = [0, 1, 2, 3], [97, 97, 98]
    (folder / "twice.json").write_text(json.dumps(stored))
    with pytest.raises(StoredDataError, match="names a category twice"):
        Forest(folder / "twice.json")


def test_lightgbm_with_words_of_a_data_frame(tmp_path):
    x, score = table(0, 300, categories=3)
    lgb(tmp_path, x, (score > 0).astype(int), rounds=3, categorical=True)
    text = (tmp_path / "model.txt").read_text()
    plain = Forest(tmp_path / "model.txt")
    words = [["low", "middle", "high"], ["x", "y", "z"]]
    (tmp_path / "words.txt").write_text(
        text.replace("pandas_categorical:null", f"pandas_categorical:{json.dumps(words)}")
    )
    forest = Forest(tmp_path / "words.txt")
    assert dict(plain.words) == {}
    assert dict(forest.words) == {"Column_4": tuple(words[0]), "Column_5": tuple(words[1])}


def test_words_of_another_column_are_not_taken(tmp_path):
    """pandas names the categories of an ordered column, LightGBM splits another one by numbers up to 6."""
    x, score = table(0, 300, categories=7)
    x[:, 5] = 0  # the same in all rows: LightGBM does not list it
    lgb(tmp_path, x, (score > 0).astype(int), rounds=3, categorical=True)
    text = (tmp_path / "model.txt").read_text()
    assert Forest(tmp_path / "model.txt").categorical[4]
    named = text.replace("pandas_categorical:null", 'pandas_categorical:[["low","middle","high"]]')
    (tmp_path / "words.txt").write_text(named)
    assert dict(Forest(tmp_path / "words.txt").words) == {}
