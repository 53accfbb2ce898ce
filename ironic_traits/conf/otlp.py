"""Options of [otlp]: spans for OpenTelemetry."""

from oslo_config import cfg

GROUP = 'otlp'

OPTIONS = [
    cfg.URIOpt(
        'endpoint',
        schemes=['http', 'https'],
        help='Base URL of a collector of OpenTelemetry, such as http://127.0.0.1:4318. The API, the workers and the '
        'mirrors send it a span for each request, each transition of a node and each task of a mirror, with their '
        'SQL statements and their requests to other services (OTLP/HTTP, to /v1/traces below the URL). By default '
        "nothing is sent. The environment variables of OpenTelemetry's SDK apply: OTEL_TRACES_SAMPLER, "
        'OTEL_TRACES_SAMPLER_ARG, OTEL_RESOURCE_ATTRIBUTES, OTEL_EXPORTER_OTLP_CERTIFICATE and others.',
    ),
    cfg.DictOpt(
        'headers',
        default={},
        secret=True,
        sample_default='Authorization:Bearer TOKEN',
        help='Headers of the requests to the collector, NAME:VALUE, separated by commas.',
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
