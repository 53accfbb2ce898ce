"""``application``, for any WSGI server: gunicorn ironic_traits.wsgi:application, uwsgi --module ironic_traits.wsgi.

Reads /etc/ironic-traits/ironic-traits.conf and its like, or the files and folders that IRONIC_TRAITS_CONFIG_FILES names
(separated by colons).
"""

import os

from ironic_traits import app
from ironic_traits.cmd import setup

_files = os.environ.get('IRONIC_TRAITS_CONFIG_FILES', '').split(':')
_conf = setup.configuration([f'--config-file={name}' for name in _files if name])
setup.schema(_conf)
application = app.build(_conf)
