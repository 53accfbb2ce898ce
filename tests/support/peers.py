"""Other services that tests run: keystone, Glance, nova, Placement, Ironic."""

import contextlib
import subprocess
import sys
import time


@contextlib.contextmanager
def peer(module, directory, port):
    """Run another service during the block, and provide its URL.

    :param module: module to run, with the directory and the port as arguments.  It prints "listening" when it is ready.
    :param directory: empty directory for its data.
    :param port: TCP port to listen on.
    """
    path = directory / 'output'
    with path.open('w+') as output:
        command = [sys.executable, '-m', module, str(directory), str(port)]
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + 120
            while 'listening' not in path.read_text():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(path.read_text())
                time.sleep(0.05)
            yield f'http://127.0.0.1:{port}'
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                # The tests do not check the end of other services.
                process.kill()
                process.wait()
