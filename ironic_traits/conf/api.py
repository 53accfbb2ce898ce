"""[api]: how requests are taken and answered."""

from oslo_config import cfg

GROUP = 'api'

OPTIONS = [
    cfg.StrOpt(
        'auth_strategy',
        default='noauth',
        choices=[
            ('noauth', 'everyone may do everything: for a machine of your own, on loopback'),
            ('http_basic', 'users and bcrypt passwords of a file, who may do everything'),
            ('keystone', 'tokens of the Identity service, checked by keystonemiddleware'),
            (
                'noauth2',
                'X-Auth-Token is who asks (admin, or USER:PROJECT) and X-Roles what they are: for tests of '
                'policies, on loopback only',
            ),
        ],
        help='How it is found out who asks.',
    ),
    cfg.StrOpt(
        'http_basic_auth_user_file',
        default='/etc/ironic-traits/htpasswd',
        help='Where the users of http_basic are: lines of USER:PASSWORD, as htpasswd -B writes them.',
    ),
    cfg.BoolOpt(
        'noauth_beyond_loopback',
        default=False,
        help='Whether noauth is allowed where others than this machine may reach the service: everyone who does may do '
        'everything. Must be set for noauth behind a WSGI server other than that of ironic-traits-api, whose address '
        'is not known here.',
    ),
    cfg.ListOpt(
        'allowed_hosts',
        default=[],
        help='Under noauth: host names by which clients may reach the service, besides addresses, names without a dot, '
        "this machine's name and those in host and public_endpoint. Requests with another Host header are refused, so "
        'that no web page can use the service through the browser of one of its users (DNS rebinding).',
    ),
    cfg.StrOpt(
        'service_project_name',
        default='service',
        help="Project of the services that work for the whole system, as nova does, by the role 'service'.",
    ),
    cfg.StrOpt(
        'serve',
        default='all',
        choices=[
            ('all', 'the Bare Metal API, and the Placement API below /placement'),
            ('placement', 'the Placement API alone, at / : for a process of its own on a port of its own'),
        ],
        help='Which of the two APIs this process serves.',
    ),
    cfg.IntOpt('max_limit', min=1, default=1000, help='Most items in one page of a list; a larger limit is cut to it.'),
    cfg.IntOpt(
        'max_request_body_size',
        min=1,
        default=1024 * 1024,
        help='Largest request body in bytes; a larger one is refused with 413. A config drive must fit.',
    ),
    cfg.StrOpt(
        'put_traits_returns',
        default='traits',
        choices=[
            ('traits', '200 with the traits, as the specification says'),
            ('nothing', '204 without a body, as Ironic itself does'),
        ],
        help='What PUT /v1/nodes/{node}/traits answers.',
    ),
    cfg.URIOpt(
        'public_endpoint',
        schemes=['http', 'https'],
        help="Base of the links in answers, when it is not what the client's Host header says (behind a proxy).",
    ),
    cfg.BoolOpt(
        'access_log',
        default=False,
        help='Whether the logger ironic_traits.access gets a line for each request: method, path, status, duration, '
        'user and request id.',
    ),
    cfg.BoolOpt(
        'audit_log',
        default=False,
        help='Whether the logger ironic_traits.audit gets a line for each write: what was asked for, of which object, '
        'whether it was done, user and request id.',
    ),
    cfg.IntOpt(
        'threads',
        min=1,
        default=16,
        help='Threads of each worker process of ironic-traits-api. Half of them may be writing, or waiting for a lock, '
        'at a time. Behind another WSGI server, set it to the number of threads that that gives to each process.',
    ),
]


def register(conf):
    """Register these options."""
    conf.register_opts(OPTIONS, group=GROUP)
