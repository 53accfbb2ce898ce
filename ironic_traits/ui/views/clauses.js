// The clauses of a request, in words.

const KINDS = {
  required: 'has the trait',
  required_any: 'has one of',
  forbidden: 'lacks the trait',
  exclusive: 'is not kept for requests that ask for',
  resource_class: 'is of the class',
  expect: 'is what the rule expects:',
  topology: 'is in one group of',
};
const ELIGIBLE = {
  'provision state': 'is available',
  maintenance: 'is not in maintenance',
  instance: 'has no instance',
  'power state': 'has a known power state',
  health: 'is healthy',
  reserved: 'is not reserved',
  allocated: 'is not allocated in Placement',
  cloud: 'can be held in its cloud',
};

/** Return a clause in words. */
export function clauseWords(clause) {
  const [kind, ...rest] = clause.split(':');
  const value = rest.join(':');
  if (kind === 'eligible') return ELIGIBLE[value] ?? value;
  return `${KINDS[kind] ?? kind} ${value.replaceAll(',', ', ')}`.trim();
}

/** Return what a relaxation leaves out, in words. */
export function withoutWords(drop) {
  return `Without “${drop.map(clauseWords).join('” and “')}”`;
}

/** Return the name of a group; groups: {key: value}. Without a key, the nodes are chosen from all groups. */
export function groupWords(groups) {
  const names = Object.entries(groups).map(([key, value]) => (key.startsWith('trait:') ? value : `${key.split('/').pop()} ${value}`));
  return names.join(' with ') || 'The best choice';
}
