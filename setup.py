"""Refuse a Python that is too old here. pip looks for the requirements first, and would search for minutes."""

import sys

import setuptools

OLDEST = '3.11'

if sys.version_info < tuple(map(int, OLDEST.split('.'))):
    running = '.'.join(map(str, sys.version_info[:3]))
    sys.exit(f'ironic-traits needs Python {OLDEST} or later. This is Python {running}: {sys.executable}')
setuptools.setup(python_requires=f'>={OLDEST}')
