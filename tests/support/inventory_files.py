"""The inventory commands of ironic-traits-manage."""

from tests.support import commands
from tests.support.programs import BIN

MANAGE = BIN / 'ironic-traits-manage'


def manage(url, *arguments, code=0):
    """Run an inventory command, and return its output, or its errors if it fails."""
    ended = commands.run('ironic-traits-manage', '--database', url, 'inventory', *arguments)
    assert ended.returncode == code, ended.stderr
    return ended.stdout if code == 0 else ended.stderr
