"""The libraries of the web page, as they are in ironic_traits/ui/vendor: python -m tests.support.ui_libraries

It fetches the newest releases with ``npm pack``, and writes their modules, their licences and ``libraries.json``. A
browser needs an import map to resolve package names, and a strict Content-Security-Policy forbids import maps. So
``from "preact"`` becomes ``from "./preact.js"``. References to source maps are left out. Nothing else is changed.
"""

import hashlib
import json
import pathlib
import re
import subprocess
import tarfile
import tempfile

FOLDER = pathlib.Path(__file__).parents[2] / 'ironic_traits' / 'ui' / 'vendor'
RECORD = FOLDER / 'libraries.json'
#: {package: {file in the package: file in FOLDER}}.
LIBRARIES = {
    'preact': {'dist/preact.mjs': 'preact.js', 'hooks/dist/hooks.mjs': 'hooks.js', 'LICENSE': 'preact.LICENSE'},
    'htm': {'dist/htm.mjs': 'htm.js', 'LICENSE': 'htm.LICENSE'},
}
#: The import of a package. A module is one line of minified code.
_IMPORT = re.compile(r'(from\s*)["\']preact["\']')
#: A reference to a source map. The wheel does not have it, but browsers would request it.
_SOURCE_MAP = re.compile(r'\n?//# sourceMappingURL=.*\n?\Z')


def refresh():
    """Write the newest releases into FOLDER, and the record of them."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        records = [_fetch(name, files, folder) for name, files in LIBRARIES.items()]
    RECORD.write_text(json.dumps(records, indent=2) + '\n')


def digest(path):
    """Return the SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _fetch(package, files, folder):
    """Write the files of a package, and return its entry in the record."""
    packed = subprocess.run(
        ['npm', 'pack', '--json', package], cwd=folder, check=True, capture_output=True, text=True, timeout=120
    )
    (release,) = json.loads(packed.stdout)
    with tarfile.open(pathlib.Path(folder, release['filename'])) as archive:
        for source, target in files.items():
            text = archive.extractfile(f'package/{source}').read().decode()
            (FOLDER / target).write_text(_SOURCE_MAP.sub('\n', _IMPORT.sub(r'\1"./preact.js"', text)))
        licence = json.loads(archive.extractfile('package/package.json').read())['license']
    return {
        'name': package,
        'version': release['version'],
        'license': licence,
        'integrity': release['integrity'],
        'files': {target: digest(FOLDER / target) for target in files.values()},
    }


if __name__ == '__main__':
    refresh()
