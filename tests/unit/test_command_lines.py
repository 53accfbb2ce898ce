"""The commands in documents and messages show no secret to other users, and install no package of a stranger."""

import re

import pytest

from tests.support.checkout import CHECKOUT, files

FILES = files({'.py', '.js', '.rst', '.yaml', '.sample', '.service', '.cfg', '.conf', ''}, '*.rst', 'etc/*')
#: What would show a secret to everyone who lists the processes of a machine.
SECRETS = re.compile(
    r'--(?:\w+-)*(?:password|passcode|token|secret)(?:[ =](?!and\b|or\b)|[\'"],)[^\n]*'
    r'|--(?:driver|instance)-info \S*(?:password|secret|token)[^\n]*'
    r'|\b(?:mysql|mariadb)(?:-\w+|dump)? (?:[^\n]* )?-p\w[^\n]*'
    r'|\bhtpasswd -\w*b[^\n]*'
    r'|\bcurl [^\n]*(?:-u|--user) ?\S+:[^\n]*'
    r'|X-(?:Auth|Subject|Service)-Token: ?"?\$[^\n]*'
    r'|\w --database [A-Z_]+ \w[^\n]*'
    # The URL of a database is in the line of an option, or without a password.
    r'|^(?!#?\s*#?connection = )[^\n]*\w://[^\s/:@]+:[^\s/@]+@[^\n]*',
    re.MULTILINE,
)
#: What would install the package of a stranger: the name of this project is not registered at PyPI.
STRANGERS = re.compile(r'pip3?\s+install[^\n;&|]*[\s\'"`]ironic[-_.]traits\b|\bironic-traits\[')


@pytest.mark.parametrize('path', FILES, ids=lambda path: str(path.relative_to(CHECKOUT)))
def test_the_commands(path):
    """No file has such a command. Where a secret is needed, name a file that only its owner can read."""
    text = path.read_text()
    assert SECRETS.findall(text) + STRANGERS.findall(text) == []


@pytest.mark.parametrize(
    'text',
    [
        'openstack --os-password secret token issue',
        'openstack user create --password=secret me',
        "parser.add_argument('--token', help='X-Auth-Token')",
        'baremetal node rescue node1 --rescue-password secret',
        'baremetal node set node1 --driver-info ipmi_password=secret',
        'mysql -u root -psecret ironic_traits',
        'mariadb-dump -psecret ironic_traits > ironic-traits.sql',
        'htpasswd -nbB myName myPassword',
        'curl -s -u me:secret http://127.0.0.1:6385/v1/nodes',
        'curl -H "X-Auth-Token: $OS_TOKEN" http://127.0.0.1:6385/v1/nodes',
        'ironic-traits-manage --database DATABASE_URL changes reset',
        'ironic-traits-manage --database postgresql://me:secret@db/ironic_traits db upgrade',
    ],
)
def test_a_secret_would_be_found(text):
    assert SECRETS.search(text)


@pytest.mark.parametrize(
    'text',
    ["pip install 'ironic-traits[postgresql]'", 'pip install -q ironic-traits', "pip install\n 'ironic-traits[x]'"],
)
def test_a_package_of_a_stranger_would_be_found(text):
    assert STRANGERS.search(text)


@pytest.mark.parametrize(
    'text',
    [
        'openstack user create --password-prompt me',
        'mariadb -p',
        'curl -u USER http://127.0.0.1:6385/v1/nodes',
        'connection = postgresql+psycopg://me:PASSWORD@db/ironic_traits',
        'ironic-traits-manage --database sqlite:///ironic-traits.sqlite changes reset',
        "python3 -m venv .venv && .venv/bin/pip install '.[client]' && .venv/bin/ironic-traits-api",
    ],
)
def test_safe_commands_are_accepted(text):
    assert not SECRETS.search(text)
    assert not STRANGERS.search(text)
