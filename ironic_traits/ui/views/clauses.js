// The clauses of a request, in words.

/** @type {Record<string, string>} */
const KINDS = {
  required: 'has the trait',
  required_any: 'has one of',
  forbidden: 'lacks the trait',
  exclusive: 'is not kept for requests that ask for',
  resource_class: 'is of the class',
  expect: 'is what the rule expects:',
  topology: 'is in one group of',
};
/** @type {Record<string, string>} */
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

/**
 * Return a clause in words.
 *
 * @param {string} clause
 */
export function clauseWords(clause) {
  const [kind, ...rest] = clause.split(':');
  const value = rest.join(':');
  if (kind === 'eligible') return ELIGIBLE[value] ?? value;
  return `${KINDS[kind] ?? kind} ${value.replaceAll(',', ', ')}`.trim();
}

/** @type {Record<string, string>} */
const UNMET_KINDS = {
  required: 'lacks',
  required_any: 'has none of',
  forbidden: 'has',
  exclusive: 'is kept for requests that ask for',
  resource_class: 'is not of the class',
};
/** @type {Record<string, string>} */
const INELIGIBLE = {
  'provision state': 'is not available',
  maintenance: 'is in maintenance',
  instance: 'has an instance',
  'power state': 'has no known power state',
  health: 'is not healthy',
  reserved: 'is reserved',
  allocated: 'is allocated in Placement',
  cloud: 'cannot be held in its cloud',
};

/**
 * Return why a node does not match, in words.
 *
 * @param {string} clause one that it does not meet.
 */
export function unmetWords(clause) {
  const [kind, ...rest] = clause.split(':');
  const value = rest.join(':');
  if (kind === 'eligible') return INELIGIBLE[value] ?? `not: ${value}`;
  return kind in UNMET_KINDS ? `${UNMET_KINDS[kind]} ${value.replaceAll(',', ', ')}` : `not: ${clauseWords(clause)}`;
}

/**
 * Return what a relaxation leaves out, in words.
 *
 * @param {string[]} drop
 */
export function withoutWords(drop) {
  return `Without “${drop.map(clauseWords).join('” and “')}”`;
}

/**
 * Return the name of a group; groups: {key: value}. Without a key, the nodes are chosen from all groups.
 *
 * @param {Record<string, string>} groups
 */
export function groupWords(groups) {
  const names = Object.entries(groups).map(([key, value]) => (key.startsWith('trait:') ? value : `${key.split('/').pop()} ${value}`));
  return names.join(' with ') || 'The best choice';
}
