"""Where the web page puts things, on screens from phones to large ones: charts, tables, titles."""

import itertools

import pytest
from playwright.sync_api import expect

from tests.support import browser as browsers
from tests.support import http_client

WIDTHS = (360, 480, 600, 768, 899, 900, 901, 1024, 1360)
#: {place: what is there when it has been read}.
PLACES = {
    'overview': '.chart .number',
    'nodes': 'tbody tr',
    'nodes/rack1-4': 'tbody tr',
    'racks': '.tile p',
    'why?resource_class=gold&required=CUSTOM_GPU_A100': '.chart .number',
    'why?key=trait:CUSTOM_RACK_&policy=affinity&count=7&key_2=shard&policy_2=soft-affinity': '.chart .number',
    'why?key=trait:CUSTOM_RACK_&policy=soft-affinity&count=12': '.policies li',
    'capacity': '.chart .number',
    'reservations': 'tbody tr',
    'rules': 'form',
    'changes': 'tbody tr',
}
#: The charts and tables; of each, the rows; of each, the boxes [left, top, right, bottom] of the texts in its cells.
BOXES = """() => [...document.querySelectorAll('.chart, tbody')].map((table) =>
  [...table.children].map((row) =>
    [...row.children].filter((cell) => cell.offsetWidth > 1 && cell.innerText.trim()).map((cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      const box = range.getBoundingClientRect();
      return [box.left, box.top, box.right, box.bottom];
    })).filter((row) => row.length))"""
#: Elements that are partly to the right of the screen, and that no frame around them scrolls.
OUTSIDE = """() => [...document.querySelectorAll('main *')].filter((each) => {
  const box = each.getBoundingClientRect();
  const frame = each.closest('pre, code, .visually-hidden, thead, .values, details:not([open]) > :not(summary)');
  return box.width > 1 && box.right > innerWidth + 1 && !frame;
}).map((each) => each.outerHTML.slice(0, 120))"""


@pytest.fixture(scope='module')
def sized(browser, look_around):
    """A tab with the view that is opened, at a width."""
    with browsers.tab(browser, look_around) as opened:

        def open_at(width, place):
            opened.page.set_viewport_size({'width': width, 'height': 800})
            page = opened.open(f'#/{place}')
            expect(page.locator(PLACES[place]).first).to_be_visible()
            return page

        yield open_at


@pytest.mark.parametrize('place', PLACES)
def test_what_belongs_together_stands_together(sized, place):
    """No cell of a row lies beside or among those of another row."""
    for width in WIDTHS:
        page = sized(width, place)
        for table in page.evaluate(BOXES):
            for row, following in itertools.pairwise(table):
                assert max(box[3] for box in row) <= min(box[1] for box in following) + 1, width


def test_each_number_stands_beside_its_condition(sized):
    for width in WIDTHS:
        page = sized(width, 'why?resource_class=gold&required=CUSTOM_GPU_A100')
        for label, *numbers in page.evaluate(BOXES)[0][1:]:
            assert len(numbers) == 2
            for number in numbers:
                assert max(label[1], number[1]) < min(label[3], number[3]), width


@pytest.mark.parametrize('place', PLACES)
def test_nothing_lies_outside_of_the_screen(sized, place):
    for width in (360, 600):
        page = sized(width, place)
        assert page.evaluate('document.documentElement.scrollWidth') == width
        assert page.evaluate(OUTSIDE) == []


@pytest.mark.parametrize('width', [700, 1360])
def test_the_title_of_a_view_is_seen(sized, width):
    for height in (400, 800):
        page = sized(width, 'changes')
        page.set_viewport_size({'width': width, 'height': height})
        for name in page.get_by_role('navigation', name='Views').get_by_role('link').all_inner_texts():
            page.evaluate('scrollTo(0, document.body.scrollHeight)')
            page.get_by_role('navigation', name='Views').get_by_role('link', name=name, exact=True).click()
            title = page.get_by_role('heading', level=1)
            expect(title).to_have_text(name)
            assert _is_seen(page, title), (name, height)
        page.get_by_role('button', name='Skip to the content').press('Enter')
        assert page.evaluate('document.activeElement.tagName') == 'MAIN'
        assert _is_seen(page, title)


def _is_seen(page, title):
    """Whether a title is on the screen, and below the header of the page."""
    header = page.locator('header.top').bounding_box()
    return title.bounding_box()['y'] >= max(header['y'] + header['height'], 0)


def test_a_rule_is_created(browser, look_around):
    with browsers.tab(browser, look_around) as opened:
        page = opened.open('#/rules')
        assert '--from-file' not in page.content()
        draft = page.get_by_label('Draft of a rule')
        draft.fill('{"name": "layout", "actions": [{"op": "add-trait", "args": {"name": "CUSTOM_LAYOUT"}}]}')
        expect(page.get_by_role('button', name='Create')).to_have_count(0)
        page.get_by_role('button', name='Preview').click()
        expect(page.get_by_role('button', name='Create')).to_be_visible()
        # What has changed since the preview is not created.
        text = draft.input_value()
        draft.fill(text.replace('LAYOUT', 'NOT_PREVIEWED'))
        expect(page.get_by_role('button', name='Create')).to_have_count(0)
        draft.fill(text)
        page.get_by_role('button', name='Preview').click()
        page.get_by_role('button', name='Create').click()
        expect(page.get_by_role('status').filter(has_text='Created: layout')).to_be_visible()
        # A second click would create it twice.
        expect(page.get_by_role('button', name='Create')).to_have_count(0)
        expect(page.get_by_role('heading', name='layout')).to_be_visible()
        opened.check_accessibility()
        opened.expected = ['409']
        page.get_by_role('button', name='Preview').click()
        page.get_by_role('button', name='Create').click()
        expect(page.get_by_role('alert')).to_contain_text('There is a rule “layout” already.')
        # The rules of a list are created one by one.
        draft.fill(f'[{text.replace("layout", "before")}, {text}]')
        page.get_by_role('button', name='Preview').click()
        page.get_by_role('button', name='Create').click()
        expect(page.get_by_role('alert')).to_contain_text('There is a rule “layout” already.')
        expect(page.get_by_role('alert')).to_contain_text('Created before that: before.')
    headers = {'X-OpenStack-Ironic-API-Version': '1.115'}
    for name in ('layout', 'before'):
        assert http_client.ask(look_around, 'DELETE', f'/v1/inspection_rules/{name}', headers=headers)[0] == 204
