"""The condition on the health of nodes, which depends on the options of [matching].

Statements are built once for the process, and options belong to a service. So the condition is compiled for the engines
of each database (``db.engine``): their dialects have the option.
"""

from typing import Any

import sqlalchemy as sa
from oslo_config import cfg
from sqlalchemy.ext import compiler

#: The attribute of a dialect with each health that keeps no node back, as SQL; '' if none does.
_HEALTHY = 'ironic_traits_healthy'


class unhealthy(sa.sql.functions.FunctionElement):
    """Whether a node is kept back for its health, which is the argument. NULL keeps no node back."""

    type = sa.Boolean()
    inherit_cache = True


@compiler.compiles(unhealthy)
def _unhealthy(element: unhealthy, compiler: Any, **options: Any) -> str:
    healthy = getattr(compiler.dialect, _HEALTHY, '')
    health = compiler.process(element.clauses, **options)
    return f'({health} IS NOT NULL AND {health} NOT IN ({healthy}))' if healthy else '(1 = 0)'


def configured(engine: sa.Engine, conf: cfg.ConfigOpts) -> sa.Engine:
    """Return an engine, in whose statements ``unhealthy`` follows the options."""
    options = conf.matching
    healthy = ("'OK'", "'Warning'") if options.unhealthy_from == 'Critical' else ("'OK'",)
    setattr(engine.dialect, _HEALTHY, ', '.join(healthy) if options.exclude_unhealthy else '')
    return engine
