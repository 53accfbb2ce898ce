"""The health check of the container: whether its API responds. A worker or a mirror ends if it cannot go on."""

import http.client
import os
import pathlib
import sys

if b'ironic-traits-api' in pathlib.Path('/proc/1/cmdline').read_bytes():
    port = int(os.environ.get('OS_DEFAULT__PORT', 6385))
    connection = http.client.HTTPConnection('127.0.0.1', port, timeout=9)
    connection.request('GET', '/healthcheck')
    sys.exit(connection.getresponse().status != http.client.OK)
