"""``refcompare cost``: what models of published sizes cost, without allocating them."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

HEADERS = (
    "model", "parameters", "published", "tokens", "forward", "step", "kept", "peak of a step", "forward, at least",
    "step, at least",
)  # fmt: skip
LEGEND = (
    "Our own texts, run on arrays that have a shape and no values. forward, step: FLOP without and with the pullback. "
    "kept: what is alive after the forward. peak: the most alive at once, gradients too, parameters not. At least: "
    "what a roof of {flops} and {bandwidth} allows."
)


def cost(
    model: Annotated[list[str] | None, typer.Option(help="Only this model; repeatable.")] = None,
    length: Annotated[list[int] | None, typer.Option(min=1, help="Tokens of a text; repeatable.")] = None,
    batch: Annotated[int, typer.Option(min=1, help="How many texts.")] = 1,
    dtype: Annotated[
        Literal["float32", "float16", "bfloat16", "float64"], typer.Option(help="Of parameters and activations.")
    ] = "float32",
    flops: Annotated[float | None, typer.Option(min=1.0, help="FLOP/s of the machine; measured by default.")] = None,
    bandwidth: Annotated[float | None, typer.Option(min=1.0, help="Bytes/s; measured by default.")] = None,
    output: Annotated[Path, typer.Option(help="Folder of cost.json and cost.svg.")] = Path("reports/cost"),
):
    """Say what published models cost: parameters, FLOPs, memory and time by length.  Nothing is allocated."""
    from compare.costs.plot import draw_costs
    from compare.costs.published import PUBLISHED
    from compare.costs.table import costs_of
    from compare.run.catalogue import check_names
    from compare.run.writable import check_writable

    check_names("model", model or (), PUBLISHED)
    check_writable(output, "cost.json", "cost.svg")
    found = list(costs_of(model or list(PUBLISHED), sorted(length or (128, 512, 2048)), n_batch=batch, dtype=dtype))
    rates = _rates(flops, bandwidth)
    print(render(found, *rates))
    output.mkdir(parents=True, exist_ok=True)
    paths = [output / "cost.json", output / "cost.svg"]
    written = {"roof": dict(zip(("flops_per_s", "bytes_per_s"), rates, strict=True)), "costs": [*map(asdict, found)]}
    paths[0].write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    if found:
        draw_costs(found).savefig(paths[1])
    print("\n".join(str(path) for path in paths if path.exists()))
    return 0


def render(found, flops_per_s, bytes_per_s):
    """Write costs as a table.

    Parameters
    ----------
    found : list of Cost
        The costs.
    flops_per_s, bytes_per_s : float
        The roof.

    Returns
    -------
    str
        The table, and how to read it.
    """
    import textwrap

    from tabulate import tabulate

    from compare.costs.published import PUBLISHED
    from compare.report.words import scaled, seconds

    body, before = [], None
    for each in found:
        named = (PUBLISHED[each.model].title, _count(each.n_param), PUBLISHED[each.model].said)
        body.append(
            (
                *(named if each.model != before else ("", "", "")),
                each.n_seq,
                *(scaled(n, "FLOP") for n in (each.forward_flops, each.step_flops)),
                *(scaled(n, "B", 1024) for n in (each.kept_bytes, each.peak_bytes)),
                *(seconds(each.seconds(flops_per_s, bytes_per_s, step=step)) for step in (False, True)),
            )
        )
        before = each.model
    legend = LEGEND.format(flops=scaled(flops_per_s, "FLOP/s"), bandwidth=scaled(bytes_per_s, "B/s"))
    return tabulate(body, HEADERS, tablefmt="simple", disable_numparse=True) + "\n\n" + textwrap.fill(legend, 100)


def _count(n):
    return f"{n / 1e9:.1f} B" if n >= 1e9 else f"{n / 1e6:.1f} M"


def _rates(flops, bandwidth):
    if flops and bandwidth:
        return flops, bandwidth
    from compare.measure.roof import measure_roof

    roof = measure_roof(("float32",))
    return flops or roof.matmul_flops_per_s["float32"], bandwidth or roof.bandwidth_bytes_per_s
