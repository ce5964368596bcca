"""For every rule, small edits of a correct sample that break it, and it alone."""

from tests.contract import violations_of_arrays, violations_of_purity, violations_of_shape

VIOLATIONS = {
    **violations_of_arrays.VIOLATIONS,
    **violations_of_purity.VIOLATIONS,
    **violations_of_shape.VIOLATIONS,
}
