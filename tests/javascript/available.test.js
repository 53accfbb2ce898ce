import assert from 'node:assert/strict';
import { test } from 'node:test';
import './browser.js';

const { seriesOf } = await import('../../ironic_traits/ui/views/available.js');

const at = (second) => new Date(second * 1000).toISOString();
const moved = (second, from, to, node_resource_class = 'gold', verb = '') => ({
  created_at: at(second), node_resource_class, provision_state: to, event: `${verb}The provision state changed from "${from}" to "${to}".`,
});

test('the numbers of the past follow from those of now', () => {
  const entries = [
    moved(50, 'cleaning', 'available'), moved(20, 'available', 'deploying', 'gold', 'Requested: active. '), moved(30, 'deploying', 'active'),
    moved(40, 'available', 'manageable', 'gpu'),
    { created_at: at(10), node_resource_class: 'gold', provision_state: 'available', event: 'The node was created.' },
    { created_at: at(15), node_resource_class: 'gold', provision_state: 'deploy failed', event: 'The disk is broken.' },
    { created_at: at(60), node_resource_class: 'gold', provision_state: null, event: 'The node was deleted.' },
    moved(70, 'cleaning', 'available', null),
  ];
  const series = seriesOf({ gold: 3, '': 5, idle: 2 }, entries, 0, 100000);
  assert.deepEqual(series, [
    { name: 'gold', now: 3, lowest: 2, points: [[0, 2], [10000, 3], [20000, 2], [50000, 3], [100000, 3]] },
    { name: 'idle', now: 2, lowest: 2, points: [[0, 2], [100000, 2]] },
    { name: 'gpu', now: 0, lowest: 0, points: [[0, 1], [40000, 0], [100000, 0]] },
  ]);
});
