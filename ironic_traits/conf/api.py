"""Options of [api]: authentication, limits, and logging of requests."""

from oslo_config import cfg

GROUP = 'api'

OPTIONS = [
    cfg.StrOpt(
        'auth_strategy',
        default='noauth',
        choices=[
            ('noauth', 'no authentication: every client may do everything; for your own machine, on loopback'),
            ('http_basic', 'users and bcrypt passwords from a file; every user may do everything'),
            ('keystone', 'tokens of the Identity service, validated by keystonemiddleware'),
            (
                'noauth2',
                'no authentication: X-Auth-Token names the user (admin, or USER:PROJECT) and X-Roles the roles; '
                'for tests of policies, on loopback only',
            ),
        ],
        help='How clients authenticate. The default is no authentication. Set it to keystone or http_basic before '
        'other machines can reach the service.',
    ),
    cfg.StrOpt(
        'http_basic_auth_user_file',
        default='/etc/ironic-traits/htpasswd',
        help='Path of the file with the users of http_basic. Each line is USER:PASSWORD with a bcrypt hash, as '
        '"htpasswd -B" writes it.',
    ),
    cfg.BoolOpt(
        'noauth_beyond_loopback',
        default=False,
        help='Whether noauth is allowed on an address that other machines can reach. Every client that reaches it may '
        'do everything. By default the service refuses to start with noauth unless it listens on loopback. noauth '
        'behind a WSGI server other than the one of ironic-traits-api also needs this option, because the service '
        'does not know the address of that server.',
    ),
    cfg.ListOpt(
        'allowed_hosts',
        default=[],
        help='Additional host names by which clients may reach the service under noauth. IP addresses, names without '
        "a dot, this machine's name, and the names in host and public_endpoint are always allowed. Requests with any "
        "other Host header are refused, so that a web page cannot reach the service through a user's browser (DNS "
        'rebinding). Add the names by which your clients address the service.',
    ),
    cfg.StrOpt(
        'service_project_name',
        default='service',
        help="Name of the project of the OpenStack services. A user with the role 'service' in this project may act "
        'on the whole system, as nova does.',
    ),
    cfg.StrOpt(
        'serve',
        default='all',
        choices=[
            ('all', 'the Bare Metal API, and the Placement API below /placement'),
            ('placement', 'only the Placement API, at /; for a separate process on its own port'),
        ],
        help='Which APIs this process serves. By default it serves both.',
    ),
    cfg.IntOpt(
        'max_limit',
        min=1,
        default=1000,
        help='Maximum number of items in one page of a list. A larger limit in a request is reduced to this value.',
    ),
    cfg.IntOpt(
        'max_request_body_size',
        min=1,
        default=1024 * 1024,
        help='Maximum size of a request body, in bytes. A larger body is refused with 413. Raise it if your config '
        'drives do not fit.',
    ),
    cfg.IntOpt(
        'max_request_body_values',
        min=1,
        default=100_000,
        help='Maximum number of JSON values in a request body. Each one needs memory, up to a hundred times its size '
        'in the body. A body with more values is refused with 413 before it is parsed.',
    ),
    cfg.StrOpt(
        'put_traits_returns',
        default='traits',
        choices=[
            ('traits', '200 with the traits, as the node-traits specification says'),
            ('nothing', '204 without a body, as Ironic itself does'),
        ],
        help='Response of PUT /v1/nodes/{node}/traits. Change it for clients that expect the response of Ironic.',
    ),
    cfg.StrOpt(
        'allocations_answer',
        default='decided',
        choices=[
            ('decided', 'the state active or error, with the node or the reasons'),
            ('allocating', 'the state allocating without a node, as Ironic itself does'),
        ],
        help='Response of POST /v1/allocations. The node is chosen before the response in any case, and the next '
        'request shows it. Change it for clients that expect the response of Ironic.',
    ),
    cfg.URIOpt(
        'public_endpoint',
        schemes=['http', 'https'],
        help="Base URL of the links in responses. By default links use the client's Host header. Set it behind a proxy "
        'that changes the host, the port or the scheme.',
    ),
    cfg.BoolOpt(
        'enable_ramdisk_endpoints',
        default=True,
        help='Whether ramdisks may send the data of inspections (POST /v1/continue_inspection). They cannot '
        'authenticate. With false, the service answers 403.',
    ),
    cfg.BoolOpt(
        'enable_ui',
        default=True,
        help='Whether to serve the web page at /ui/. The page needs no authentication, but shows only what the API '
        'returns to its user. With keystone, it sends user names and passwords to /ui/login, where the service gets '
        'tokens for them. With false, neither is served.',
    ),
    cfg.BoolOpt(
        'access_log',
        default=False,
        help='Whether to log a line for each request to the logger ironic_traits.access: method, path, status, '
        'duration, user and request id.',
    ),
    cfg.BoolOpt(
        'audit_log',
        default=False,
        help='Whether to log a line for each write to the logger ironic_traits.audit: the action, its object, whether '
        'it succeeded, user and request id.',
    ),
    cfg.IntOpt(
        'threads',
        min=1,
        default=16,
        help='Number of threads in each worker process of ironic-traits-api. At most half of them write, or wait for '
        'a lock, at a time. Behind another WSGI server, set it to the number of threads that the server runs in each '
        'process.',
    ),
    cfg.IntOpt(
        'max_waiting_requests',
        min=0,
        default=128,
        help='Number of requests that may wait for one of the threads, in each process of ironic-traits-api. Further '
        'requests are refused at once with 503 and Retry-After, before they are authenticated. /healthcheck and '
        '/metrics are always served. Behind another WSGI server, set the limit of that server.',
    ),
    cfg.FloatOpt(
        'slow_read_timeout',
        min=0,
        default=60,
        help='Seconds for which a client may read a response slower than 16 KiB per second. After that its connection '
        'is closed, because a response that is not read stays in memory. 0 is no limit. It needs Linux, and applies to '
        'ironic-traits-api only: behind a proxy, the proxy reads the responses.',
    ),
    cfg.FloatOpt(
        'slow_body_timeout',
        min=0,
        default=30,
        help='Seconds in which a client must send the body of a request, and one more for each 16 KiB that '
        'Content-Length states. After that its connection is closed, because the request keeps a thread busy. 0 is no '
        'limit. It needs Linux, and applies to ironic-traits-api only: behind a proxy, let the proxy read the whole '
        'body first.',
    ),
]


def register(conf: cfg.ConfigOpts) -> None:
    """Register the options of this group."""
    conf.register_opts(OPTIONS, group=GROUP)
