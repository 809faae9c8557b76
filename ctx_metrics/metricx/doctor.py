"""The section of `ctx-metrics doctor` on MetricX: the checkpoints in the cache, and the tokenizer that they lack."""

from collections.abc import Iterator

from ..cli.doctor import Finding
from .checkpoint import TOKENIZER, named_version

TITLE = "MetricX"


def findings() -> Iterator[Finding]:
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        cached = {repo.repo_id: repo.size_on_disk_str for repo in scan_cache_dir().repos}
    except CacheNotFound:
        cached = {}
    where = "in the cache" if TOKENIZER in cached else "not in the cache; fetched on first use, or --metricx-tokenizer"
    yield Finding("tokenizer", f"{TOKENIZER}, {where}")
    checkpoints = [name for name in sorted(cached) if named_version(name)]
    for name in checkpoints:
        yield Finding(name, f"MetricX-{named_version(name)}, {cached[name]}")
    if not checkpoints:
        yield Finding("checkpoints", "none in the cache")
