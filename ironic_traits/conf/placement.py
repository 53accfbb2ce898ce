"""[placement]: the Placement API."""

from oslo_config import cfg

GROUP = 'placement'

OPTIONS = [
    cfg.StrOpt(
        'incomplete_consumer_project_id',
        default='00000000-0000-0000-0000-000000000000',
        help='Project of consumers whose client does not name one: before version 1.8 it could not.',
    ),
    cfg.StrOpt(
        'incomplete_consumer_user_id',
        default='00000000-0000-0000-0000-000000000000',
        help='User of consumers whose client does not name one: before version 1.8 it could not.',
    ),
    cfg.IntOpt(
        'max_allocation_candidates',
        min=-1,
        default=-1,
        help='Most candidates that are looked for, whatever limit a client asks for; -1 for no maximum.',
    ),
    cfg.IntOpt(
        'max_candidate_combinations',
        min=1,
        default=1_000_000,
        help='Most combinations of providers that are tried for one request. A request of many groups over trees of '
        'many alike providers has more of them than could ever be tried; it gets what was found until then.',
    ),
    cfg.StrOpt(
        'allocation_candidates_generation_strategy',
        default='depth-first',
        choices=[
            ('depth-first', 'all candidates of one tree, then those of the next'),
            ('breadth-first', 'one candidate of each tree by turns'),
        ],
        help='Which candidates come first, and are given when there are more than may be.',
    ),
    cfg.BoolOpt(
        'randomize_allocation_candidates',
        default=False,
        help='Whether candidates are given in random order, and a random choice of them when there are more than the '
        'limit.',
    ),
]


def register(conf):
    """Register these options."""
    conf.register_opts(OPTIONS, group=GROUP)
