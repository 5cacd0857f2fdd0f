"""Names of a checkpoint's outputs beside the classes of data."""

import pytest

from exparity.core.errors import InputError
from exparity.models.class_names import in_order_of_outputs, output_names


def test_outputs_are_named_in_their_order():
    assert output_names({1: "good", 0: "bad"}) == ("bad", "good")
    assert output_names({0: "LABEL_0", 1: "LABEL_1"}) is None
    assert output_names({0: "LABEL_0", 1: "good"}) == ("LABEL_0", "good")


@pytest.mark.parametrize(
    ("outputs", "classes", "order"),
    [
        (("POSITIVE", "NEGATIVE"), ("negative", "positive"), ("positive", "negative")),
        # No text of the third class is there.
        (("pro", "con", "neutral"), ("con", "pro"), ("pro", "con", "neutral")),
        (("bad", "good"), ("1", "0"), ("0", "1")),
        (tuple("543210"), tuple("012345"), tuple("543210")),
        (("Neg", "pos"), ("neg", "pos"), ("neg", "pos")),
    ],
)
def test_classes_take_the_order_of_the_outputs(outputs, classes, order):
    assert in_order_of_outputs(outputs, classes, "checkpoint x") == order


@pytest.mark.parametrize(
    ("outputs", "classes"),
    [
        # Four of five stars are no positions: 1 would be the second output.
        (("1 star", "2 stars", "3 stars", "4 stars", "5 stars"), ("1", "2", "3", "4")),
        (("good", "Good"), ("good",)),
    ],
)
def test_other_names_are_refused_with_both_lists(outputs, classes):
    lists = f"{', '.join(outputs)} and those of the data {', '.join(classes)}"
    with pytest.raises(InputError, match=f"checkpoint x: its classes are {lists}"):
        in_order_of_outputs(outputs, classes, "checkpoint x")
