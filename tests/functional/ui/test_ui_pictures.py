"""The pictures on the page "A look around". IRONIC_TRAITS_WRITE_SAMPLES=1 renews them."""

import json
import os
import pathlib
import re
import urllib.parse

import pytest
from playwright.sync_api import expect

from tests.functional.ui.test_ui_views import FLAVOR, uuid_of
from tests.support import browser as browsers

DOC = pathlib.Path(__file__).parents[3] / 'doc' / 'source'
FOLDER = DOC / '_static' / 'look-around'
_FLAVOR = urllib.parse.quote(json.dumps(FLAVOR))
#: {picture: (place of the page, text of the complete page, colours, height)}. {NAME} stands for the uuid of a node.
PICTURES = {
    'overview': ('#/overview', 'in maintenance', 'light', 720),
    'nodes': ('#/nodes?traits=HW_CPU_X86_VMX&not-traits-any=CUSTOM_RAID_6', 'rack2-8', 'light', 720),
    'node': ('#/nodes/{rack1-4}', 'bmc-scan:', 'light', 980),
    'racks': ('#/racks', '8 nodes', 'light', 420),
    'why': (f'#/why?flavor={_FLAVOR}&required=CUSTOM_GPU_A100', 'What would help', 'dark', 720),
    'capacity': ('#/capacity?by=shard&without=rack1-2', 'provision state: 3', 'light', 720),
    'reservations': ('#/reservations', 'rack1-3', 'light', 360),
    'rules': ('#/rules', 'would change', 'dark', 720),
    'changes': ('#/changes?event_type=trait', 'terraform', 'light', 560),
}


def test_each_picture_is_shown():
    named = re.findall(r'_static/look-around/(\w+)\.png', (DOC / 'look-around.rst').read_text())
    assert set(named) == set(PICTURES) == {path.stem for path in FOLDER.iterdir()}
    assert '_static/look-around/why.png' in (DOC.parents[1] / 'README.rst').read_text()


@pytest.mark.skipif(not os.environ.get('IRONIC_TRAITS_WRITE_SAMPLES'), reason='writes files')
@pytest.mark.parametrize('name', PICTURES)
def test_pictures(browser, look_around, name):
    place, text, colours, height = PICTURES[name]
    place = re.sub('{(.*)}', lambda match: uuid_of(look_around, match[1]), place)
    with browsers.tab(browser, look_around, viewport={'width': 1160, 'height': height}, color_scheme=colours) as opened:
        page = opened.open(place)
        if name == 'rules':
            page.get_by_role('button', name='Preview').click()
        expect(page.get_by_text(text).first).to_be_visible()
        page.wait_for_load_state('networkidle')
        page.screenshot(path=FOLDER / f'{name}.png')
