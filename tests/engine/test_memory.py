import platform

from plugin_conftest import python


def test_large_tensors_are_not_mapped_anew_each_time():
    code = """
import resource
from ctx_metrics.engine.memory import keep_freed_memory
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(8):
        bytearray(2**26)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
usual = faults()
print(keep_freed_memory(), faults() < usual / 4)
"""
    done = python(code)
    assert done.stdout.split() == (["True", "True"] if platform.libc_ver()[0] == "glibc" else ["False", "False"])
