"""The program ironic-traits-mirror with a real Ironic, while the database of the service fails."""

import contextlib
import subprocess
import time

from tests.support.mirror import clouds_file
from tests.support.programs import BIN

_CONFIGURATION = """
[database]
connect_timeout = 1.5
[mirror]
interval = 0.5
write = traits
max_pause = 2
"""


class Following:
    """A mirror process, and changes on both sides that it must transfer.

    :param ironic: ``tests.support.mirror.Ironic``.
    :param client: of the service.
    :param url: of the database.
    :param directory: empty, for files.
    """

    def __init__(self, ironic, client, url, directory):
        self._ironic, self._client, self._number = ironic, client, 0
        self._uuid = ironic.node(name='followed')
        clouds_file(directory / 'clouds.yaml', far=ironic.url)
        (directory / 'mirror.conf').write_text(_CONFIGURATION)
        self._log = directory / 'mirror.log'
        options = ['--config-file', directory / 'mirror.conf', '--database', url, '--cloud', 'far']
        self._command = [BIN / 'ironic-traits-mirror', *options]
        with self._log.open('w') as log:
            self._process = subprocess.Popen(self._command, cwd=directory, stdout=log, stderr=subprocess.STDOUT)

    def __enter__(self):
        """Let the mirror write traits, as soon as it has read the cloud."""
        self._until(lambda: subprocess.run([*self._command, 'confirm', 'writes'], capture_output=True).returncode == 0)
        return self

    def __exit__(self, *exception):
        self._process.terminate()
        try:
            self._process.wait(30)
        finally:
            self._process.kill()

    def change(self):
        """Change the node in the cloud."""
        self._number += 1
        self._ironic.patch(f'/v1/nodes/{self._uuid}', description=str(self._number))

    def wait(self):
        """Wait until this service has the change, and the cloud has a trait that is added in this service."""
        self._until(lambda: self._get('description') == str(self._number))
        trait = f'CUSTOM_{self._number}'
        path = f'/v1/nodes/{self._uuid}/traits/{trait}'
        self._until(lambda: self._client.ask('PUT', path).status_int == 204)
        self._until(lambda: trait in self._ironic.traits(self._uuid))

    def check(self):
        """Assert that both sides have all changes, and that the process still runs and had no unexpected error."""
        expected = {f'CUSTOM_{number + 1}' for number in range(self._number)}
        assert self._ironic.traits(self._uuid) == expected == set(self._get('traits'))
        assert self._process.poll() is None
        assert 'Traceback' not in self._log.read_text(), self._log.read_text()

    def _get(self, field):
        response = self._client.ask('GET', f'/v1/nodes/{self._uuid}')
        return response.json.get(field) if response.status_int == 200 else None

    def _until(self, is_so, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert self._process.poll() is None, self._log.read_text()
            # The SQLite database of the real Ironic is sometimes locked.
            with contextlib.suppress(RuntimeError):
                if is_so():
                    return
            time.sleep(0.1)
        raise TimeoutError(self._log.read_text())
