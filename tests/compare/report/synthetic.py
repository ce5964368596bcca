"""Made-up reports: forty components, every verdict, figures that are not finite."""

import math
import random

DTYPES = {"float64": 1e-16, "float32": 6e-8, "bfloat16": 4e-3}
SECTIONS = {
    "layers": "linear embedding softmax log_softmax layer_norm rms_norm relu tanh gelu_erf gelu_tanh silu "
    "dropout cross_entropy gated_linear_unit",
    "positions": "sinusoidal learned rotary alibi relative bucketed",
    "attention": "mask dot_product multi_head_self multi_head_cross grouped_query sliding_window tiled cache",
    "blocks": "feed_forward encoder_block_post encoder_block_pre decoder_block mixture_of_experts "
    "transformer_xl_block",
    "models": "bert bert_minilm gpt llama transformer_xl clip",
}


def error_figures(rng, u, *, shape=(2, 3, 16), sigma=None, passed=True, reason=""):
    """Return the error figures of one tensor, about as a real run would."""
    sigma = sigma if sigma is not None else math.exp(rng.gauss(0.3, 0.5))
    return {
        "passed": passed,
        "reason": reason,
        "shape": list(shape),
        "dtype": "float32",
        "n": math.prod(shape),
        "sigma_max": sigma,
        "sigma_q999": sigma * 0.9,
        "ulp_max": sigma * 1.4,
        "abs_max": sigma * u,
        "rel_max": sigma * u * 0.7,
        "cosine": 1.0 - u,
        "worst_index": [1, 2, 11],
        "worst_value": 0.1234567,
        "worst_truth": 0.1234567 - sigma * u,
        "min_tolerance": sigma * u * 0.6,
        "softened": 0,
    }


def memory(rng):
    """Return a memory measurement."""
    reference, peer = rng.randrange(10_000, 4_000_000), rng.randrange(10_000, 4_000_000)
    return {
        "reference": {"peak_bytes": reference, "instrument": "tracemalloc", "blind_spots": "C workspaces"},
        "peer": {"peak_bytes": peer, "instrument": "torch profiler", "blind_spots": "LSTM workspaces"},
        "analytic_bytes": reference * 0.9,
        "ratio": reference / peer,
    }


def throughput(rng):
    """Return a throughput measurement."""
    ratio, width = math.exp(rng.gauss(0.4, 0.7)), rng.uniform(1.005, 1.1)
    low, high = ratio / width, ratio * width
    word = "slower" if low > 1.03 else "faster" if high < 0.97 else "inconclusive"
    flops, intensity = 10 ** rng.uniform(6, 10), 10 ** rng.uniform(-1, 2)
    peer_s = flops / (min(5e10, 2e10 * intensity) * rng.uniform(0.02, 0.9) * min(ratio, 1.0))
    return {
        "what": "forward+backward",
        "reference": {
            "median_s": peer_s * ratio,
            "q25_s": peer_s * ratio * 0.98,
            "q75_s": peer_s * ratio * 1.02,
        },
        "peer": {"median_s": peer_s, "q25_s": peer_s * 0.98, "q75_s": peer_s * 1.03},
        "ratio": ratio,
        "ratio_low": low,
        "ratio_high": high,
        "verdict": word,
        "pairs": 30,
        "processes": 3,
        "threads": 2,
        "flops": flops,
        "bytes": flops / intensity,
        "share_of_roof": rng.uniform(0.05, 0.9),
    }


def study(title="Reach"):
    """Return a study of two panels."""
    panel = {"title": title, "x_label": "distance", "y_label": "norm", "x": [1, 2, 4], "x_scale": "log"}
    lines = {"rnn": [1.0, 0.1, 0.01], title: [1.0, 0.9, 0.0]}
    panels = [{**panel, "y_scale": scale, "lines": lines} for scale in ("log", "linear")]
    return {"title": title, "text": f"What {title} shows.", "panels": panels}


def row(
    case="layer_norm",
    section="layers",
    config="rank3",
    dtype="float32",
    peer="torch",
    *,
    seed=0,
    measured=False,
):
    """Return one comparison that passes."""
    rng = random.Random(f"{seed} {case} {config} {dtype} {peer}")
    u = DTYPES[dtype]
    outputs = {"reference": {"y": error_figures(rng, u)}, "peer": {"y": error_figures(rng, u)}}
    gradients = {
        side: {"x": error_figures(rng, u), "params.weight": error_figures(rng, u, shape=(16,))}
        for side in ("reference", "peer")
    }
    return {
        "case": case,
        "section": section,
        "title": case.replace("_", " ").capitalize(),
        "config": {
            "name": config,
            "sizes": {"n_batch": 2, "n_seq": 3, "d_model": 16},
            "settings": {"eps": 1e-5},
        },
        "dtype": dtype,
        "backend": "numpy",
        "peer": peer,
        "policy": "sums kept in float32",
        "verdict": "PASS",
        "reason": "",
        "repeat": f"refcompare run {case} --config {config} --dtype {dtype} --peer {peer}",
        "outputs": {} if peer == "complex_step" else outputs,
        "gradients": gradients,
        "memory": memory(rng) if measured else None,
        "throughput": throughput(rng) if measured else None,
        "seconds": {"total": 0.5, "measured": 0.4},
    }


def environment():
    """Return an environment."""
    return {
        "python": "3.11.7",
        "platform": "Linux-6.1-x86_64",
        "cpu": "Example CPU @ 2.50GHz",
        "cores": 2,
        "threads": 2,
        "backend": "numpy",
        "profile": "quick",
        "seed": 0,
        "packages": {"numpy": "2.4.6", "torch": "2.13.0"},
        "command": "refcompare run --profile quick",
        "started": "2026-11-30T01:00:00+00:00",
        "finished": "2026-11-30T01:02:00+00:00",
        "seconds": {"wall": 120.3, "measured": 100.1, "overhead": 20.2, "overhead_share": 0.168},
        "roof": {"matmul_flops_per_s": {"float32": 1.1e11, "float64": 5e10}, "bandwidth_bytes_per_s": 2e10},
    }


def passing(sections=None, *, seed=0):
    """Return a report of forty components in which every verdict is PASS."""
    rows = []
    for section, names in (sections or SECTIONS).items():
        for case in names.split():
            for dtype in DTYPES:
                peers = ("torch", "autograd", "complex_step") if dtype == "float64" else ("torch",)
                for peer in peers:
                    rows.append(row(case, section, "rank3", dtype, peer, seed=seed))
                if dtype != "bfloat16":
                    rows.append(row(case, section, "large", dtype, "torch", seed=seed, measured=True))
    return {"schema": "refimpl-compare/1", "environment": environment(), "cases": rows}


def small():
    """Return a report of two cases in which every verdict is PASS."""
    return passing({"layers": "layer_norm softmax"})


def spoil(row, verdict, reason, *, sigma=None):
    """Give a row another verdict; with a `sigma`, its output y is what is wrong."""
    row.update(verdict=verdict, reason=reason)
    if sigma is not None:
        figures = row["outputs"]["reference"]["y"]
        figures.update(passed=False, reason=reason, sigma_max=sigma, abs_max=sigma, worst_value=sigma)
    if verdict in ("ERROR", "CRASH", "TIMEOUT"):
        row.update(outputs={}, gradients={}, memory=None, throughput=None)


def mixed():
    """Return a report of forty components with one of each verdict, infinities and NaN."""
    report = passing()
    rows = {(r["case"], r["config"]["name"], r["dtype"], r["peer"]): r for r in report["cases"]}

    def spoiled(case, dtype, *args, **kwargs):
        spoil(rows[case, "rank3", dtype, "torch"], *args, **kwargs)

    spoiled(
        "gelu_tanh",
        "float32",
        "FAIL",
        "output y: element (1, 2, 11) is 8.5e+03 sigma from the truth",
        sigma=8.5e3,
    )
    spoiled("dot_product", "bfloat16", "FAIL", "output y: nan where the truth is 0.123", sigma=math.nan)
    spoiled("cross_entropy", "float32", "FAIL", "output y: inf where the truth is 0.123", sigma=math.inf)
    spoiled("rotary", "float32", "CRASH", "the process died with signal 11 (SIGSEGV)")
    spoiled("alibi", "float64", "ERROR", "ValueError: n_head must be at least 1, got 0")
    spoiled("gpt", "float32", "TIMEOUT", "no result within 60 s")
    spoiled("tiled", "bfloat16", "INCONCLUSIVE", "scale off by 0.1 % cannot be excluded in bfloat16")
    spoiled("clip", "float32", "WAIVED", "tolerance loosened by hand to 20 sigma")
    rows["softmax", "rank3", "float64", "torch"]["outputs"]["reference"]["y"]["sigma_max"] = 0.0
    rows["softmax", "rank3", "float64", "torch"]["study"] = study()
    return report


def hostile():
    """Return a report whose every text tries to break out of the page."""
    text = "<script>alert('x')</script>\"'& | `code` $x_1$ {{ 7 * 7 }} \x1b[31m\n# head"
    report = small()
    for row in report["cases"]:
        row.update(case=text, section=text, title=text, reason=text, repeat=text, dtype=text, backend=text)
        row["config"].update(name=text + row["config"]["name"], sizes={text: text}, settings={text: text})
        row["outputs"] = {side: {text: figures["y"]} for side, figures in row["outputs"].items()}
        if row["memory"]:
            row["memory"]["reference"].update(instrument=text, blind_spots=text)
            row["throughput"].update(what=text)
    for number, row in enumerate(report["cases"]):
        row.update(peer=f"{text}{number}", verdict="FAIL")
    report["cases"][0]["study"] = study(text)
    report["environment"].update(
        python=text, platform=text, cpu=text, backend=text, profile=text, command=text
    )
    report["environment"].update(started=text, finished=text, packages={text: text})
    return report
