"""Names of traits for any text."""

import re

from ironic_traits.matching import traits


def normalized(text: str) -> str:
    """Return a name for a text: CUSTOM_ and capitals, with _ for the rest. A trait stays as it is.

    The name may be no trait: it is too long, or the text has no letter or digit.

    >>> normalized('ProLiant BL460c Gen8'), normalized('custom_gold'), normalized('HW_CPU_X86_AVX')
    ('CUSTOM_PROLIANT_BL460C_GEN8', 'CUSTOM_GOLD', 'HW_CPU_X86_AVX')
    """
    if traits.is_trait(text):
        return text
    name = re.sub('[^A-Z0-9]+', '_', text.upper()).strip('_')
    return name if not name or traits.is_trait(name) else f'CUSTOM_{name}'
