"""The nodes by rack on the web page, in a real browser."""

import re

from playwright.sync_api import expect


def test_the_racks(tab):
    """Each rack has its figures, and the node in which it differs from all others."""
    page = tab.open('#/racks')
    tiles = page.locator('.tile')
    expect(tiles).to_have_count(3)
    expect(tiles.first).to_contain_text('RACK_1 8 nodes')
    expect(tiles.first).to_contain_text(re.compile(r'\d free, \d held, \d unavailable'))
    expect(tiles.first.get_by_role('link', name='has CUSTOM_TIER_1')).to_be_visible()
    tab.check_accessibility()
    tiles.first.get_by_role('link', name='has CUSTOM_TIER_1').click()
    expect(page.get_by_role('status').first).to_have_text('1 node')
    expect(page.locator('tbody td.name')).to_have_text('rack1-4')
    page.go_back()
    tiles.nth(1).get_by_role('link', name='RACK_2', exact=True).click()
    expect(page.get_by_role('status').first).to_have_text('8 nodes')


def test_groups_by_fields(tab):
    page = tab.open('#/racks?key=resource_class')
    tiles = page.locator('.tile')
    expect(tiles.locator('h2')).to_have_text([re.compile('^gold'), re.compile('^gpu'), re.compile('^storage')])
    page.get_by_label('Grouped by').fill('driver')
    page.get_by_role('button', name='Show').click()
    expect(tiles).to_have_count(1)
    expect(tiles.first).to_contain_text('fake-hardware')
    page.get_by_label('Grouped by').fill('trait:custom_rack_')
    page.get_by_role('button', name='Show').click()
    expect(tiles).to_have_count(3)
    page.get_by_label('Grouped by').fill('custom_nothing_')
    page.get_by_role('button', name='Show').click()
    expect(tiles).to_have_count(1)
    expect(tiles.first).to_contain_text('(none)')
    page.get_by_label('Grouped by').fill('lessee')
    page.get_by_role('button', name='Show').click()
    expect(page.get_by_text('24 nodes without a value')).to_be_visible()
    expect(tiles).to_have_count(0)


def test_racks_after_an_outage(tab):
    """The groups are those that it would show without the outage."""
    tab.expected = ['503']
    page = tab.open('')
    page.route('**/v1/facets?by=traits*', lambda route: route.fulfill(status=503, json={}))
    tab.open('#/racks')
    expect(page.get_by_role('alert')).to_be_visible()
    page.unroute('**/v1/facets?by=traits*')
    page.get_by_role('button', name='Try again').click()
    expect(page.locator('.tile').first).to_contain_text('RACK_1')
    expect(page.get_by_role('alert')).to_have_count(0)


def test_a_field_that_groups_nothing(tab):
    tab.expected = ['400']
    page = tab.open('#/racks?key=colour')
    expect(page.get_by_role('alert')).to_be_visible()


def test_a_block_in_one_rack(tab):
    page = tab.open('#/racks')
    expect(page.locator('.tile')).to_have_count(3)
    page.get_by_label('A block in one group').fill('2')
    page.get_by_role('button', name='Find').click()
    expect(page.get_by_role('heading', level=1)).to_have_text('Why')
    expect(page.get_by_text('Chosen: 2 of 2 nodes')).to_be_visible()
