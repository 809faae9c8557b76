"""What is in the pages of reports."""

import base64
import gzip
import json
import re


def data_of(path) -> dict:
    """What the script of a page reads."""
    html = path.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>") and html.endswith("</html>\n" if html.endswith("\n") else "</html>")
    packed = re.search(r'<script type="text/plain" id="data">(.*?)</script>', html)[1]
    return json.loads(gzip.decompress(base64.b64decode(packed)))
