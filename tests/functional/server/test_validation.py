"""Unknown names in configuration files, and the help of ironic-traits-manage."""

import pathlib
import pkgutil
import re
import textwrap

import pytest

from ironic_traits.cmd import manage
from ironic_traits.conf import validation
from tests.support.programs import run
from tests.support.service import ForkedServer, make_conf

CHECKOUT = pathlib.Path(__file__).parents[3]


def problems(tmp_path, text):
    """Return the problems of a file."""
    path = tmp_path / 'looked-at.conf'
    path.write_text(text)
    conf = make_conf(f'sqlite:///{tmp_path}/x.sqlite', '--config-file', str(path))
    return [problem.removeprefix(f'{path}: ') for problem in validation.problems(conf)]


@pytest.mark.parametrize(
    ('text', 'problem'),
    [
        ('[api]\nauth_strategi = keystone', 'unknown option [api] auth_strategi: did you mean auth_strategy?'),
        ('[apii]\nauth_strategy = keystone', 'unknown section [apii]: did you mean [api]?'),
        (
            '[DEFAULT]\nauth_strategy = keystone',
            'unknown option [DEFAULT] auth_strategy: did you mean [api] auth_strategy?',
        ),
        ('[DEFAULT]\ndatabase = sqlite:///x', 'unknown option [DEFAULT] database: did you mean database_url?'),
        ('[DEFAULT]\nstate-path = x', 'unknown option [DEFAULT] state-path: did you mean state_path?'),
        ('[DEFAULT]\nwhatever = x', 'unknown option [DEFAULT] whatever'),
        ('[database]\nconection = x', 'unknown option [database] conection: did you mean connection?'),
        ('[databse]\nconnection = x', 'unknown section [databse]: did you mean [database]?'),
        (
            '[keystone_authtokens]\nauth_type = password',
            'unknown section [keystone_authtokens]: did you mean [keystone_authtoken]?',
        ),
        ('[fake-hardware]\ndelays = x:1', 'unknown section [fake-hardware]: did you mean [fake_hardware]?'),
        ('[oslo_polcy]\npolicy_file = x', 'unknown section [oslo_polcy]: did you mean [oslo_policy]?'),
    ],
)
def test_unknown_name(text, problem, tmp_path):
    assert problems(tmp_path, text) == [problem]


@pytest.mark.parametrize(
    'text',
    [
        '',
        '[DEFAULT]\nlogfile = /dev/null',
        '[database]\nsqlite_synchronous = true\nlibrary_option = x',
        '[keystone_authtoken]\nauth_type = v3oidcpassword\nidentity_provider = x\nauth_section = who\n[who]\nx = 1',
        '[healthcheck]\ndetailed = true\n[cors]\nallowed_origin = x\n[oslo_middleware]\nmax_request_body_size = 1',
        '[oslo_messaging_rabbit]\nx = 1\n[oslo_concurrency]\nlock_path = x\n[profiler]\nx = 1\n[cache]\nenabled = 1',
        '[conductor]\nx = 1\n[api_database]\nconnection = x\n[neutron]\nauth_type = password\n[service_catalog]\nx = 1',
    ],
)
def test_sections_of_others(text, tmp_path):
    """The service does not validate the sections of other programs."""
    assert problems(tmp_path, text) == []


@pytest.mark.parametrize(('name', 'count'), [('ironic-traits.conf.sample', 50), ('libraries.conf.sample', 80)])
def test_our_own_samples(name, count, tmp_path):
    """The sample configurations, with every option and its default, are valid."""
    sample = (CHECKOUT / 'etc' / name).read_text()
    text = re.sub(r'^#(?=[a-z_0-9]+ = )', '', sample, flags=re.MULTILINE)
    path = tmp_path / 'sample.conf'
    path.write_text(text)
    assert sum(' = ' in line and line[0] != '#' for line in text.splitlines()) > count
    assert validation._schema().problems(str(path)) == []


def test_the_guides(tmp_path):
    """The configurations of the installation guide are valid."""
    guide = (CHECKOUT / 'doc' / 'source' / 'installation.rst').read_text()
    blocks = re.findall(r'code-block:: ini\n\n((?:    .*\n|\n)+)', guide)
    assert len(blocks) > 2
    for block in blocks:
        (tmp_path / 'block.conf').write_text(textwrap.dedent(block))
        assert validation._schema().problems(str(tmp_path / 'block.conf')) == []


def test_config_validate(tmp_path):
    (tmp_path / 'wrong.conf').write_text('[api]\nauth_strategi = keystone\n[apii]\nx = 1\n')
    (tmp_path / 'right.conf').write_text('[api]\nauth_strategy = noauth\n')
    (tmp_path / 'unusable.conf').write_text('[api]\nmax_limit = 0\n')
    wrong = run('ironic-traits-manage', '--config-file', 'wrong.conf', 'config', 'validate', cwd=tmp_path)
    assert (wrong.returncode, len(wrong.stdout.splitlines())) == (1, 2)
    right = run('ironic-traits-manage', '--config-file', 'right.conf', 'config', 'validate', cwd=tmp_path)
    assert (right.returncode, right.stdout) == (0, 'right.conf: no problems\n')
    unusable = run('ironic-traits-manage', '--config-file', 'unusable.conf', 'config', 'validate', cwd=tmp_path)
    assert unusable.returncode == 1
    # The command created no database.
    assert not (tmp_path / 'ironic-traits-data').exists()


@pytest.mark.parametrize('log_file', [True, False])
def test_the_service_warns(log_file, tmp_path):
    """The service warns once on stderr, and once in the log."""
    (tmp_path / 'wrong.conf').write_text(
        '[api]\nauth_strategi = keystone\n' + ('[DEFAULT]\nlog_file = log\nuse_stderr = false\n' if log_file else '')
    )
    with ForkedServer(None, '--config-file', 'wrong.conf', cwd=tmp_path) as server:
        printed = server.stop()
    assert printed.count('did you mean auth_strategy?') == 1
    if log_file:
        assert (tmp_path / 'log').read_text().count('did you mean auth_strategy?') == 1


def test_the_help_lists_every_command(tmp_path):
    done = run('ironic-traits-manage', '--help', cwd=tmp_path)
    assert done.returncode == 0
    for noun, (_, verbs) in manage.COMMANDS.items():
        for verb in verbs:
            assert f'  {noun} {verb} ' in done.stdout
            own = run('ironic-traits-manage', noun, verb, '--help', cwd=tmp_path)
            assert own.stdout.startswith(f'usage: ironic-traits-manage {noun} {verb} ')


def test_the_help_imports_nothing_slow(tmp_path):
    done = run('ironic-traits-manage', '--help', cwd=tmp_path, PYTHONPROFILEIMPORTTIME='1')
    assert not [name for name in ('sqlalchemy', 'oslo_config', 'pecan', 'alembic') if name in done.stderr]


def test_every_function_of_the_commands_is_there():
    for _, verbs in manage.COMMANDS.values():
        for function, _, _ in verbs.values():
            assert callable(pkgutil.resolve_name(f'ironic_traits.cmd.{function}'))
