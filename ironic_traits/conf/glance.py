"""[glance]: where images are looked up."""

from keystoneauth1 import loading
from oslo_config import cfg

GROUP = 'glance'

#: How to reach it, in the words that every service of OpenStack has for it.
OPTIONS = [
    *(option for option in loading.get_adapter_conf_options() if option.dest == 'endpoint_override'),
    *loading.get_session_conf_options(),
]
# The client waits meanwhile.
cfg.set_defaults(OPTIONS, timeout=10)


def register(conf):
    """Register these options."""
    conf.register_opts(OPTIONS, group=GROUP)
