"""The keys of the web page, in a real browser."""

import pytest
from playwright.sync_api import expect


def focused(page):
    """Return the text of the element with the focus."""
    return page.evaluate('document.activeElement.innerText')


def test_rows_and_the_search(tab):
    page = tab.open()
    expect(page.locator('tbody tr').first).to_be_visible()
    names = page.locator('tbody td.name').all_inner_texts()
    for key, row in (('j', 0), ('j', 1), ('j', 2), ('k', 1), ('k', 0), ('k', 0)):
        page.keyboard.press(key)
        assert focused(page) == names[row]
    page.keyboard.press('/')
    search = page.get_by_role('searchbox', name='Search nodes')
    expect(search).to_be_focused()
    page.keyboard.type('j/k?')
    expect(search).to_have_value('j/k?')
    page.get_by_role('checkbox', name='Select rack1-3', exact=True).focus()
    page.keyboard.press('j')
    assert focused(page) == names[names.index('rack1-3') + 1]
    page.keyboard.press('Enter')
    expect(page.get_by_role('heading', level=1)).to_have_text('rack1-4')


@pytest.mark.parametrize('place', ['overview', 'racks', 'capacity', 'changes', 'reservations'])
def test_rows_of_other_views(tab, place):
    page = tab.open(f'#/{place}')
    expect(page.locator('main :is(.chart, .tiles, tbody) a').first).to_be_visible()
    expect(page.locator('main .busy')).to_have_count(0)
    reached = []
    for key in 'jjk':
        page.keyboard.press(key)
        # Two rows may have the same link.
        reached.append(page.evaluate('[...document.querySelectorAll("main a")].indexOf(document.activeElement)'))
    first, second, last = reached
    assert 0 <= first < second
    assert last == first


def test_the_list_of_keys(tab):
    """It has a switch, which the browser remembers."""
    page = tab.open()
    expect(page.locator('tbody tr').first).to_be_visible()
    page.keyboard.press('?')
    keys = page.get_by_role('dialog', name='Keys')
    expect(keys).to_contain_text('go to the next row')
    tab.check_accessibility()
    keys.get_by_role('checkbox', name='Use these keys').uncheck()
    page.keyboard.press('Escape')
    expect(keys).to_have_count(0)
    page.reload()
    expect(page.locator('tbody tr').first).to_be_visible()
    page.keyboard.press('?')
    expect(keys).to_have_count(0)
    page.get_by_role('button', name='Keys').click()
    keys.get_by_role('checkbox', name='Use these keys').check()
    keys.get_by_role('button', name='Close').click()
    page.keyboard.press('j')
    assert focused(page) == 'rack1-1'
