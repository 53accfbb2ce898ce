"""The character $ in the URL of the database: oslo.config replaces $NAME by the option of that name."""

import pytest
from oslo_config import cfg

from ironic_traits import conf


@pytest.fixture(params=['command line', 'file'])
def made(request, tmp_path):
    """A function that returns the URL of the configuration for a given URL."""

    def make(url):
        (tmp_path / 'a.conf').write_text(f'[database]\nconnection = {url}\n')
        option = ['--database', url] if request.param == 'command line' else ['--config-file', str(tmp_path / 'a.conf')]
        return conf.make(option).database.connection

    return make


def test_doubled(made):
    assert made('postgresql+psycopg://me:a$$b$$host@db/x') == 'postgresql+psycopg://me:a$b$host@db/x'


@pytest.mark.parametrize('password', ['a$b', '${b}', '$b.c'])
def test_single(made, password):
    with pytest.raises(cfg.Error, match=r'no such .*\$\$ is a "\$"') as raised:
        made(f'postgresql+psycopg://me:{password}@db/x')
    assert 'postgresql' not in str(raised.value)
