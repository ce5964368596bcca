"""Plan a comparison, run it in isolation, resume it, and gather the rows of its report."""
