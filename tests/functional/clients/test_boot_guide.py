"""The transcripts of the guide of images that boot, with a virtual machine."""

import re
import textwrap

from tests.functional.clients import test_readme
from tests.support import virtual_machines
from tests.support.bmc_server import PASSWORD
from tests.support.boot_images import boot_iso, serving_images

home = test_readme.home
PAGE = test_readme.DOC / 'booting.rst'


def test_the_transcripts(home, tmp_path_factory, monkeypatch):
    monkeypatch.setenv('OS_DEPLOY__ENABLED_HARDWARE_TYPES', 'redfish')
    monkeypatch.setenv('OS_REDFISH__ALLOW_LOCAL_ADDRESSES', 'true')
    described = textwrap.dedent(re.search(r'code-block:: yaml\n\n(.*?)\n\n\S', PAGE.read_text(), re.DOTALL)[1])
    folder = tmp_path_factory.mktemp('images')
    (folder / 'hello.iso').write_bytes(boot_iso('hello from an image'))
    with virtual_machines.running() as (machine, bmc), serving_images(folder) as images:
        (home / 'console.log').symlink_to(machine.serial)
        urls = {'http://127.0.0.1:8000': bmc.driver_info['redfish_address'], 'http://127.0.0.1:8001': images.url}
        for shown, meant in {**urls, 'of-this-BMC': PASSWORD}.items():
            described = described.replace(shown, meant)
        (home / 'machine.yaml').write_text(described)
        test_readme.check(PAGE, home, home, home, urls)
