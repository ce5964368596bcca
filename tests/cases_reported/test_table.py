"""Every public report that touches a component there is has a test that carries its id."""

import re
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TOUCHED = {
    "A1": "a boolean mask row that is all False gives 0, and gradients 0",
    "A2": "one fully masked row must not make every in-projection gradient NaN",
    "A3": "one query, eight keys, causal: the query sees all eight",
    "A4": "more queries than keys: the first rows see nothing and give 0",
    "A5": "an additive mask as (1 - m)(-inf) gives NaN at allowed cells",
    "A6": "causal with a cache: the offset is the length of the past",
    "A7": "softcap goes before the mask",
    "A8": "four query heads on two key heads are h0 h0 h1 h1",
    "A9": "an additive float mask is added, never read as a boolean",
    "A10": "attention dropout is off in evaluation",
    "A11": "a window of W counts the query itself",
    "A12": "large constant inputs leave finite gradients",
    "P1": "rotary layouts are equal after permuting q and k, both ways",
    "P2": "angles are computed in float32 or better whatever the activations",
    "P3": "left padding: the cumulated mask minus 1, clipped at 0",
    "P4": "ALiBi slopes of 12 and of 8 heads",
    "P5": "the relative shift leaves junk after the diagonal unless it is masked",
    "P6": "sinusoidal: the exponent, and the two layouts",
    "M1": "softmax, top-k, renormalise equals top-k, softmax",
    "M2": "the balance loss is per layer; a single expert over the chosen is refused",
    "R1": "the GRU's reset before and after the product are two variants",
    "R2": "two biases against one: the sum matches, the gradients are the same",
    "R3": "every gate of the LSTM uses its own bias",
    "R4": "gate orders of PyTorch, ONNX and Keras, converted both ways",
    "G1": "logits with a cache equal logits without, for every split into chunks",
    "G2": "the repetition penalty multiplies negative logits and divides positive ones",
    "N1": "the variance is biased, and eps belongs inside the root",
    "N2": "eps is a setting of the checkpoint",
    "N3": "(1 + weight) in float32, cast last, folded once",
    "N4": "the layer norm gradient at ranks 3 and 4",
    "N5": "erf and tanh GELU differ; the second derivative at 0",
    "L1": "label smoothing of a target with log-probability -inf is defined",
    "T2": "AdamW is not Adam with an L2 term",
    "T1": "a second call of a pullback gives the same result",
}


def ids_in(text):
    return set(re.findall(r"^def test_([A-Z]\d+)_", text, flags=re.MULTILINE))


@pytest.fixture(scope="module")
def tested():
    return set().union(*(ids_in(path.read_text(encoding="utf-8")) for path in HERE.glob("test_*.py")))


@pytest.mark.parametrize("report", TOUCHED)
def test_the_report_has_a_named_test(report, tested):
    assert report in tested, f"{report} ({TOUCHED[report]}) has no test_{report}_... in {HERE.name}"


def test_named_tests_are_in_the_table(tested):
    assert tested <= TOUCHED.keys()


def test_a_missing_name_is_noticed():
    assert ids_in("def test_A1_x():\ndef test_A_12():\n    def test_A3_inner():\n# def test_A4_comment():\n") == {"A1"}
