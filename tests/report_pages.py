"""What is in the pages of reports."""

import base64
import gzip
import json
import re


def data_of(path, test_set: int = 0) -> dict:
    """What the script of a page reads; `test_set` is its number, from 0, on a page of several."""
    html = path.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>") and html.rstrip("\n").endswith("</html>")
    return data_in(html, test_set)


def data_in(html: str, test_set: int = 0) -> dict:
    packed = re.findall(r'<script type="text/plain" class="data">(.*?)</script>', html)[test_set]
    return json.loads(gzip.decompress(base64.b64decode(packed)))
