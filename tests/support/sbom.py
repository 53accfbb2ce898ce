"""The list of the components of a release (SBOM, CycloneDX): python -m tests.support.sbom, or ``tox -e sbom``.

It installs the wheel and ``requirements/service.txt`` with its hashes into a new environment. cyclonedx-py lists the
installed packages, and this adds the libraries of the web page, which are files of the wheel. The same checkout always
results in the same file.
"""

import base64
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import urllib.parse
import venv

from tests.support import ui_libraries

CHECKOUT = pathlib.Path(__file__).parents[2]
REQUIREMENTS = CHECKOUT / 'requirements' / 'service.txt'
_NAME = 'ironic-traits'
_SPECIFICATION = '1.6'


def vendored():
    """Return the components of the web page, one for each library, with its files in it: [component, …]."""
    return [_library(record) for record in json.loads(ui_libraries.RECORD.read_text())]


def complete(document):
    """Return the document of cyclonedx-py with the service as its subject, and with the libraries of the web page.

    :param document: the parsed document.
    :raises ValueError: the service is not in it.
    """
    services = [each for each in document['components'] if each['name'] == _NAME]
    if len(services) != 1:
        raise ValueError(f'{len(services)} components with the name {_NAME}')
    (service,) = services
    # The service is an application, installed from a local folder.
    service['type'] = 'application'
    service.pop('externalReferences', None)
    libraries = vendored()
    others = [each for each in document['components'] if each is not service]
    references = [each['bom-ref'] for each in libraries]
    dependencies = [_with(each, service['bom-ref'], references) for each in document['dependencies']]
    dependencies += [{'ref': reference} for reference in references]
    metadata = document['metadata'] | {'component': service}
    return document | {'metadata': metadata, 'components': others + libraries, 'dependencies': dependencies}


def write(target):
    """Write the list of this checkout into a file."""
    with tempfile.TemporaryDirectory() as folder:
        python = installed(pathlib.Path(folder))
        tool = [sys.executable, '-m', 'cyclonedx_py', 'environment', '--spec-version', _SPECIFICATION]
        listed = _run([*tool, '--output-reproducible', '--output-format', 'JSON', str(python)])
    text = json.dumps(complete(json.loads(listed)), indent=2, sort_keys=True) + '\n'
    _check(text)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


def installed(folder):
    """Install the service as an operator does, with the pinned requirements, and return the Python of its environment.

    :param folder: an empty folder.
    :raises subprocess.CalledProcessError: it cannot be installed, or it does not run.
    """
    # Install without pip in the environment, because it would be listed, too.
    venv.create(folder / 'venv', with_pip=False)
    python = folder / 'venv' / 'bin' / 'python'
    ignored = shutil.ignore_patterns('.*', '__pycache__', '*.egg-info', 'build', 'dist', 'doc', 'tests')
    # setuptools writes into the source.
    source = shutil.copytree(CHECKOUT, folder / 'source', ignore=ignored)
    pip = [sys.executable, '-m', 'pip', '--python', str(python)]
    _run([*pip, 'install', '-q', '--require-hashes', '-r', str(REQUIREMENTS)])
    _run([*pip, 'install', '-q', '--no-deps', str(source)])
    _run([*pip, 'check'])
    _run([str(python.with_name('ironic-traits-manage')), '--database', f'sqlite:///{folder}/x.sqlite', 'db', 'upgrade'])
    return python


def _library(record):
    algorithm, _, digest = record['integrity'].partition('-')
    package = f'pkg:npm/{urllib.parse.quote(record["name"])}@{record["version"]}'
    return {
        'type': 'library',
        'bom-ref': package,
        'name': record['name'],
        'version': record['version'],
        'purl': package,
        'licenses': [{'license': {'id': record['license'], 'acknowledgement': 'declared'}}],
        # This is the hash of the package in the npm registry. The hashes of the files are those of the wheel.
        'hashes': [{'alg': algorithm.upper().replace('SHA', 'SHA-'), 'content': base64.b64decode(digest).hex()}],
        'components': [
            {
                'type': 'file',
                'bom-ref': f'{package}#{name}',
                'name': f'ironic_traits/ui/vendor/{name}',
                'hashes': [{'alg': 'SHA-256', 'content': digest}],
            }
            for name, digest in sorted(record['files'].items())
        ],
    }


def _with(dependency, reference, more):
    """Return an entry of ``dependencies``. If it is that of the reference, add more dependencies."""
    if dependency['ref'] != reference:
        return dependency
    return dependency | {'dependsOn': sorted([*dependency.get('dependsOn', []), *more])}


def _run(command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=900).stdout


def _check(text):
    """Raise ValueError unless the text follows CycloneDX's schema."""
    # Only tox -e sbom has this requirement.
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    if error:
        raise ValueError(str(error))


if __name__ == '__main__':
    write(pathlib.Path(sys.argv[1]))
