"""The descriptions of both APIs in OpenAPI, as files of this site: ``openapi/NAME.json``."""

import json
import pathlib

from ironic_traits.api.description import documents


def write(folder):
    """Write the description of the latest version of each API.

    :param folder: pathlib.Path of the site.
    """
    (folder / 'openapi').mkdir(exist_ok=True)
    for name, (api, _) in documents.APIS.items():
        text = json.dumps(documents.document(name, api.maximum, 'keystone'), indent=1)
        (folder / 'openapi' / f'{name}.json').write_text(text + '\n')


def _write_after(app, exception):
    if exception is None and app.builder.format == 'html':
        write(pathlib.Path(app.outdir))


def setup(app):
    app.connect('build-finished', _write_after)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
