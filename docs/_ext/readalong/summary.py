"""From a report to the few figures that a page shows."""

SCHEMA = "refimpl-measured/1"
PACKAGES = ("numpy", "torch", "transformers", "autograd")


def summarise(report):
    """Condense a report.

    Parameters
    ----------
    report : dict
        As `compare.report` writes it, schema ``refimpl-compare/1``.

    Returns
    -------
    dict
        ``schema``, ``environment`` and ``cases``: by name, ``errors`` (a row for each dtype and peer, the worst over
        all configurations, outputs and gradients) and ``costs`` (time and memory where they were measured).
    """
    environment = report["environment"]
    packages = environment["packages"]
    cases = {}
    for row in report["cases"]:
        cases.setdefault(row["case"], []).append(row)
    return {
        "schema": SCHEMA,
        "environment": {
            "date": environment["finished"][:10],
            "cpu": environment["cpu"],
            "cores": environment["cores"],
            "python": environment["python"],
            "seed": environment["seed"],
            "packages": {name: packages[name] for name in PACKAGES if name in packages},
        },
        "cases": {name: {"errors": _errors(rows), "costs": _costs(rows)} for name, rows in sorted(cases.items())},
    }


def _errors(rows):
    groups = {}
    for row in rows:
        groups.setdefault((row["dtype"], row["peer"]), []).append(row)
    return [
        {
            "dtype": dtype,
            "peer": peer,
            "judged": len(group),
            "passed": sum(row["verdict"] == "PASS" for row in group),
            **{
                f"{side}_{short}": _worst(group, side, field)
                for side in ("reference", "peer")
                for short, field in (("sigma", "sigma_max"), ("tolerance", "min_tolerance"))
            },
        }
        for (dtype, peer), group in groups.items()
    ]


def _worst(rows, side, field):
    figures = [
        float(figure[field])
        for row in rows
        for kind in ("outputs", "gradients")
        for figure in row[kind].get(side, {}).values()
        if figure[field] is not None
    ]
    if not figures:
        return None
    # Three digits say all that a page shows, and keep the committed file from changing without cause.
    return float(f"{max(figures):.3g}")


def _costs(rows):
    return [
        {
            "config": row["config"]["name"],
            "dtype": row["dtype"],
            "peer": row["peer"],
            "time_ratio": row["throughput"] and _rounded(row["throughput"]["ratio"]),
            "time_verdict": row["throughput"] and row["throughput"]["verdict"],
            "memory_ratio": row["memory"] and _rounded(row["memory"]["ratio"]),
        }
        for row in rows
        if row["throughput"] or row["memory"]
    ]


def _rounded(value):
    return None if value is None else float(f"{float(value):.3g}")
