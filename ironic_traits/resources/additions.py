"""Which parts of the Bare Metal API are additions of ours to Ironic's."""


class Addition(int):
    """The minor version that an addition is served from.

    A request that names the version of our additions (``api.microversions``) gets it at every version. So Ironic may
    give its name to something else in a later version.
    """


#: Most additions are served from this version on.
ADDED = Addition(38)


def has(since: int, minor: int, has_additions: bool) -> bool:
    """Whether a request gets a feature.

    :param since: the minor version that brought the feature.
    :param minor: the minor version of the request.
    :param has_additions: whether the request names the version of our additions.
    """
    return since <= minor or (has_additions and isinstance(since, Addition))
