"""Options of [nova]: the Compute service that flavors are read from."""

from keystoneauth1 import loading
from oslo_config import cfg

GROUP = 'nova'

#: The options that all OpenStack services have for a client of another service.
OPTIONS = [
    *(option for option in loading.get_adapter_conf_options() if option.dest == 'endpoint_override'),
    *loading.get_session_conf_options(),
]
# The client of this service waits for the response of nova.
cfg.set_defaults(OPTIONS, timeout=10)


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
