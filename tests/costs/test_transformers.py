"""The sources of columns, read off fitted transformers, are the inputs that change them."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from miserly import CostError, Costs
from miserly.costs.transformers import sources_of

pd = pytest.importorskip("pandas")
NAMES = ["a", "b", "c", "zone"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.random((60, 3)), columns=["a", "b", "c"]).assign(zone=rng.integers(0, 4, 60))


TRANSFORMERS = {
    "scaler": StandardScaler(),
    "one-hot": OneHotEncoder(sparse_output=False),
    "infrequent": OneHotEncoder(sparse_output=False, max_categories=3, drop="first", handle_unknown="ignore"),
    "columns": ColumnTransformer(
        [("n", StandardScaler(), ["b", "a"]), ("z", OneHotEncoder(sparse_output=False), ["zone"])]
    ),
    "passed": make_column_transformer(
        (PCA(2), [0, 2]), remainder="passthrough", verbose_feature_names_out=False
    ),
    "sliced": make_column_transformer((StandardScaler(), slice("b", "zone")), ("drop", ["a"])),
    "masked": make_column_transformer((PolynomialFeatures(2), [True, False, True, False])),
    "pipeline": make_pipeline(
        SimpleImputer(add_indicator=True),
        make_column_transformer((KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform"), [1, 0])),
    ),
    "union": FeatureUnion([("raw", "passthrough"), ("sums", PCA(1)), ("none", "drop")]),
    "normal": Normalizer(),
    "neighbours": KNNImputer(),
    "logarithms": FunctionTransformer(np.log1p, feature_names_out="one-to-one"),
}  # fmt: skip


@pytest.mark.parametrize("transformer", TRANSFORMERS.values(), ids=TRANSFORMERS)
def test_an_output_depends_on_its_sources_alone(transformer, table):
    transformer.fit(table)
    inputs, made = sources_of(transformer)
    assert inputs == NAMES and [name for name, _ in made] == transformer.get_feature_names_out().tolist()
    before = np.asarray(transformer.transform(table), dtype=float)
    for i, name in enumerate(NAMES):
        changed = table.assign(**{name: table[name].to_numpy()[::-1]})
        after = np.asarray(transformer.transform(changed), dtype=float)
        moved = np.flatnonzero((before != after).any(axis=0)).tolist()
        assert set(moved) <= {j for j, (_, sources) in enumerate(made) if i in sources}


def test_sources_by_name(table):
    found = sources_of(TRANSFORMERS["columns"].fit(table))[1]
    assert [(name, sorted(sources)) for name, sources in found] == [
        ("n__b", [1]), ("n__a", [0]), *((f"z__zone_{k}", [3]) for k in range(4)),
    ]  # fmt: skip
    found = sources_of(TRANSFORMERS["masked"].fit(table))[1]
    assert [sorted(sources) for _, sources in found] == [[], [0], [2], [0], [0, 2], [2]]


def test_costs_of_the_columns_of_a_transformer(table):
    costs = Costs({"zone": 5, "a": 1, "b": 2, "c": 4, "other": 9}, unit="CAD")
    found = costs.for_columns(TRANSFORMERS["columns"].fit(table))
    assert found.names == tuple(TRANSFORMERS["columns"].get_feature_names_out())
    assert found.total == 8 and found.of(["z__zone_0", "z__zone_2"]) == 5 and found.unit == "CAD"
    arrays = make_pipeline(StandardScaler(), PCA(2)).fit(table.to_numpy())
    assert Costs([1, 2, 4, 5]).for_columns(arrays).of("pca1") == 12


def test_columns_that_a_transformer_drops_need_no_cost(table):
    dropping = make_column_transformer((StandardScaler(), ["zone", "a"])).fit(table)
    found = Costs({"a": 1, "zone": 5}).for_columns(dropping)
    assert [found.of(name) for name in found.names] == [5.0, 1.0]
    assert Costs([1, 2, 4, 5]).for_columns(dropping).total == 6


def test_transformers_that_cannot_be_read(table):
    with pytest.raises(CostError, match="StandardScaler is not fitted"):
        Costs([1]).for_columns(StandardScaler())
    with pytest.raises(CostError, match="FunctionTransformer does not name its outputs"):
        Costs([1, 1, 1, 1]).for_columns(FunctionTransformer(np.log1p).fit(table))
    with pytest.raises(CostError, match="no cost for column 'zone'"):
        Costs({"a": 1, "b": 1, "c": 1}).for_columns(StandardScaler().fit(table))
