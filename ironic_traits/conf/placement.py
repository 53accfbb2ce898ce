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
        default=100_000,
        help='How many combinations of providers one request for candidates may try. Many groups over trees of many '
        'similar providers have more combinations than anyone could try: the request gets the candidates found so far. '
        'A second is enough for about 100,000.',
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
