"""One page with the maps, what they show in numbers, and the memory; it needs nothing from outside."""

import base64
import io

from jinja2 import Environment, StrictUndefined

TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>A BERT and a GPT read the same text</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; max-width: 64rem; margin: 2rem auto; padding: 0 1rem; color: #1f2328; }
img { max-width: 100%; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .2rem .8rem; border-bottom: 1px solid #d5dbe1; text-align: right; }
th:first-child, td:first-child { text-align: left; }
blockquote { border-left: 3px solid #0072b2; margin-left: 0; padding-left: 1rem; }
</style></head><body>
<h1>A BERT and a GPT read the same text</h1>
<blockquote>{{ text }}</blockquote>
<p>Who looks stands on the left, what is looked at below. The BERT looks both ways; the GPT, which must not know what
comes, only back: above the diagonal its map is empty.</p>
<p><img alt="Attention maps, one column a model, one row a layer" src="data:image/png;base64,{{ image }}"></p>
{% for title, headers, rows in tables %}
<h2>{{ title }}</h2>
<table><thead><tr>{% for header in headers %}<th>{{ header }}</th>{% endfor %}</tr></thead><tbody>
{% for row in rows %}<tr>{% for cell in row %}<td>{{ cell }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table>
{% endfor %}
</body></html>
"""


def render_page(text, figure, tables):
    """Write the page.

    Parameters
    ----------
    text : str
        What was read.
    figure : matplotlib.figure.Figure
        The maps.
    tables : list of (str, list of str, list of list)
        Title, headers and rows.

    Returns
    -------
    str
        HTML.
    """
    image = io.BytesIO()
    figure.savefig(image, format="png", dpi=130)
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    encoded = base64.b64encode(image.getvalue()).decode("ascii")
    return environment.from_string(TEMPLATE).render(text=text, image=encoded, tables=tables)
