"""The section of `ctx-metrics doctor` on BLEURT: the checkpoints in the cache, and whether they are complete."""

from collections.abc import Iterator

from ..cli.doctor import Finding
from .checkpoint import is_complete, is_named

TITLE = "BLEURT"


def findings() -> Iterator[Finding]:
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        cached = sorted(scan_cache_dir().repos, key=lambda repo: repo.repo_id)
    except CacheNotFound:
        cached = []
    found = [repo for repo in cached if is_named(repo.repo_id)]
    for repo in found:
        whole = any(is_complete(revision.snapshot_path) for revision in repo.revisions)
        state = "complete" if whole else f"files are missing; fetch them: hf download {repo.repo_id}"
        yield Finding(repo.repo_id, f"{repo.size_on_disk_str}, {state}")
    if not found:
        yield Finding("checkpoints", "none in the cache")
