"""The WSGI application of the real Ironic, for granian. IRONIC_CONFIGURATION has the configuration files."""

import os
import sys

# Ironic reads its options from the command line, but this one belongs to granian.
sys.argv = ['ironic-api', *(f'--config-file={path}' for path in os.environ['IRONIC_CONFIGURATION'].split(':'))]

from ironic.wsgi import application  # noqa: E402, F401
