"""A real Placement without sockets: python -m tests.differential.placement_peer DIRECTORY.

``peers.Peer`` starts it.
"""

import os
import pathlib
import sys
import warnings

from tests.differential.peers import answer_lines
from tests.support.placement_server import CONF


def main(directory):
    """Create the schema, and answer sequences of requests."""
    warnings.simplefilter('ignore')
    pathlib.Path(directory, 'placement.conf').write_text(CONF.format(directory=directory))
    os.environ['OS_PLACEMENT_CONFIG_DIR'] = directory
    del sys.argv[1:]
    from placement.wsgi import init_application

    answer_lines(init_application(), os.path.join(directory, 'placement.sqlite'))


if __name__ == '__main__':
    main(sys.argv[1])
