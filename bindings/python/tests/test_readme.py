"""README.md: the example prints what its comments say."""

import pathlib
import re
import subprocess
import sys

README = pathlib.Path(__file__).parent.parent / "README.md"


def test_the_example_prints_what_its_comments_say(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    example = next(block for block in blocks if "braiddb.DB(" in block)
    expected = re.findall(r"print\(.*?\) +# (.*)", example)
    done = subprocess.run([sys.executable, "-c", example], cwd=tmp_path, capture_output=True,
                          text=True, check=True)
    assert done.stdout.splitlines() == expected and len(expected) == 5
