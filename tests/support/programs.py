"""The programs of the service, as processes."""

import os
import pathlib
import subprocess
import sys

BIN = pathlib.Path(sys.executable).parent


def run(program, *arguments, cwd, **environment):
    """Run a command to its end."""
    return subprocess.run(
        [BIN / program, *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | environment,
        timeout=60,
    )
