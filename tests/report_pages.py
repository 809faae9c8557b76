"""What is in the pages of reports."""

import base64
import gzip
import json
import re


def data_of(path) -> dict:
    """What the script of a page reads."""
    html = path.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>") and html.rstrip("\n").endswith("</html>")
    return data_in(html)


def data_in(html: str) -> dict:
    packed = re.search(r'<script type="text/plain" id="data">(.*?)</script>', html)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))
