"""Options of [placement]: the Placement API."""

from oslo_config import cfg

GROUP = 'placement'

OPTIONS = [
    cfg.StrOpt(
        'incomplete_consumer_project_id',
        default='00000000-0000-0000-0000-000000000000',
        help='Project of consumers that are created without one. Before version 1.8, requests have no project.',
    ),
    cfg.StrOpt(
        'incomplete_consumer_user_id',
        default='00000000-0000-0000-0000-000000000000',
        help='User of consumers that are created without one. Before version 1.8, requests have no user.',
    ),
    cfg.IntOpt(
        'max_allocation_candidates',
        min=-1,
        default=-1,
        help='Maximum number of candidates that the service searches for, whatever the limit in the request. The '
        'default, -1, means no maximum. Set it if requests for candidates take too long.',
    ),
    cfg.IntOpt(
        'max_candidate_combinations',
        min=1,
        default=100_000,
        help='Maximum number of combinations of providers that a request for candidates tries. When it is reached, the '
        'response has the candidates found so far. Requests with many groups over trees of many similar providers have '
        'very many combinations. Trying 100,000 of them takes about one second.',
    ),
    cfg.StrOpt(
        'allocation_candidates_generation_strategy',
        default='depth-first',
        choices=[
            ('depth-first', 'all candidates of one tree, then those of the next tree'),
            ('breadth-first', 'one candidate of each tree in turn'),
        ],
        help='Order of the candidates. It decides which candidates are returned when there are more than the limit.',
    ),
    cfg.BoolOpt(
        'randomize_allocation_candidates',
        default=False,
        help='Whether candidates are returned in random order. If there are more than the limit, a random selection of '
        'them is returned.',
    ),
    cfg.BoolOpt(
        'exclusive_traits',
        default=True,
        help='Whether trees with an exclusive trait of the catalogue (/v1/traits) are candidates only for requests '
        'that require the trait. False is the meaning of Placement itself, in which such a trait is like any other.',
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
