"""Options of [inspection]: the data of inspections, and the rules that run on it."""

from oslo_config import cfg

GROUP = 'inspection'

OPTIONS = [
    cfg.BoolOpt(
        'standard_rules',
        default=True,
        help='Whether the rules that ship with this package run. They give inspected nodes the traits of their CPU, '
        'their architecture, their disks and their network interfaces.',
    ),
    cfg.MultiStrOpt(
        'rules_dirs',
        default=[],
        help='Directories with further rules, in files *.yaml and *.json. The option can be repeated.',
    ),
    cfg.IntOpt(
        'max_data_size',
        min=1,
        default=8 * 1024 * 1024,
        help='Maximum size of the data of an inspection in a request, in bytes, from a ramdisk or from PUT '
        '/v1/nodes/{node}/inventory. Larger data is refused with 413. [api] max_request_body_size does not limit these '
        'two requests.',
    ),
]


def register(conf):
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
