"""What the browser remembers of the web page: saved views, columns and the height of rows; and the page on paper."""

from playwright.sync_api import expect

from tests.functional.ui.test_ui_nodes import names, parameters
from tests.support import browser as browsers


def test_saved_views(browser, look_around):
    with browsers.tab(browser, look_around) as tab:
        tab.page.context.grant_permissions(['clipboard-read', 'clipboard-write'])
        page = tab.open('#/nodes?traits=CUSTOM_RACK_2&limit=20&provision_state=available&columns=name,owner')
        expect(page.locator('tbody tr')).to_have_count(5)
        page.get_by_role('button', name='Saved').click()
        dialog = page.get_by_role('dialog', name='Saved views')
        expect(dialog).to_contain_text('There is none yet.')
        dialog.get_by_label('Save this view as').fill('Free in rack 2')
        dialog.get_by_role('button', name='Save', exact=True).click()
        tab.check_accessibility()
        dialog.get_by_role('button', name='Copy the link of Free in rack 2').click()
        expect(dialog.get_by_role('button', name='Copy the link')).to_have_text('Copied')
        link = page.evaluate('navigator.clipboard.readText()')
        page.keyboard.press('Escape')
        tab.open('#/changes')
        page.get_by_role('button', name='Saved').click()
        dialog.get_by_role('link', name='Free in rack 2').click()
        expect(dialog).to_have_count(0)
        expect(page.locator('tbody tr')).to_have_count(5)
        expect(page.locator('thead')).to_contain_text('Owner')
        assert page.url == link
        page.reload()
        page.get_by_role('button', name='Saved').click()
        dialog.get_by_role('button', name='Remove Free in rack 2').click()
        expect(dialog.get_by_role('link')).to_have_count(0)
    # The link is enough for another browser.
    with browsers.tab(browser, look_around) as tab:
        tab.page.goto(link)
        expect(tab.page.locator('tbody tr')).to_have_count(5)


def test_columns_and_low_rows_are_remembered(browser, look_around):
    with browsers.tab(browser, look_around) as tab:
        page = tab.open()
        row = page.locator('tbody tr').first
        expect(row).to_be_visible()
        height = row.bounding_box()['height']
        page.get_by_text('Columns', exact=True).click()
        page.get_by_role('checkbox', name='Traits').uncheck()
        page.get_by_role('checkbox', name='Shard').check()
        page.get_by_role('checkbox', name='Compact rows').check()
        tab.check_accessibility()
        tab.open('#/overview')
        tab.open('#/nodes?owner=web')
        expect(page.locator('thead')).to_contain_text('Shard')
        expect(page.locator('thead')).not_to_contain_text('Traits')
        assert row.bounding_box()['height'] < height
        # The columns of a link are those that its author saw.
        tab.open('#/nodes?columns=name,driver')
        expect(page.locator('thead')).to_contain_text('Driver')
        expect(page.locator('thead')).not_to_contain_text('Shard')
        page.get_by_text('Columns', exact=True).click()
        expect(page.get_by_role('checkbox', name='Compact rows')).to_be_checked()
        page.get_by_role('button', name='The usual columns').click()
        tab.open('#/racks')
        tab.open('#/nodes')
        expect(page.locator('thead')).to_contain_text('Traits')
        expect(page.locator('thead')).not_to_contain_text('Shard')


def test_facets_keep_their_order_below_the_pointer(tab):
    """A click changes the numbers, and the next click shall not meet another value."""
    page = tab.open()
    facets = page.get_by_role('complementary', name='Filters with counts')
    values = facets.get_by_role('list', name='Provision state').locator('a')
    expect(values).to_have_text(['available', 'active', 'manageable'])
    facets.get_by_text('Shard', exact=True).click()
    facets.get_by_role('link', name='s0', exact=True).click()
    expect(page.get_by_role('status').first).to_have_text('12 nodes')
    assert values.all_inner_texts() == ['available', 'active', 'manageable']
    # Outside of the facets, the value that most nodes have is the first one again.
    page.get_by_role('heading', level=1).hover()
    page.get_by_role('searchbox', name='Search nodes').fill('rack')
    page.get_by_role('button', name='Search').click()
    expect(values).to_have_text(['available', 'manageable', 'active'])


def test_the_whole_of_long_names_is_there(tab):
    """No text of the table is cut: not with a tooltip either, which a phone does not have."""
    page = tab.open('#/nodes?columns=name,uuid,driver,traits,description')
    expect(page.locator('tbody tr').first).to_be_visible()
    cut = """[...document.querySelectorAll('main *')].filter((each) =>
      getComputedStyle(each).textOverflow === 'ellipsis' && each.scrollWidth > each.clientWidth).length"""
    assert page.evaluate(cut) == 0


def test_on_paper(tab):
    """The content of a view is printed with its parameters, without what one can only click."""
    page = tab.open('#/nodes?traits=CUSTOM_RACK_2')
    expect(page.locator('tbody tr').first).to_be_visible()
    page.emulate_media(media='print', color_scheme='dark')
    assert (
        page.evaluate(
            "[...document.querySelectorAll('button, nav, .facets')].filter((each) => each.offsetParent).length"
        )
        == 0
    )
    assert page.evaluate("getComputedStyle(document.querySelector('td.name a')).color") != 'rgb(165, 180, 252)'
    assert len(names(page)) == 8
    assert parameters(page) == {'traits': 'CUSTOM_RACK_2'}
    for place in ('overview', 'racks', 'capacity', 'why?required=CUSTOM_NOPE', 'changes'):
        tab.open(f'#/{place}')
        expect(page.locator('main .card:not(form), main .tile').first).to_be_visible()
        assert page.locator('header.top').is_hidden()
        # What was asked for.
        assert page.get_by_text('required: CUSTOM_NOPE').is_visible() is place.startswith('why')
