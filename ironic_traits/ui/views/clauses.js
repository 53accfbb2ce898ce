// The clauses of a request, in words.
import { number, plural } from '../format.js';
import { COLUMNS, requestFilters } from './filters.js';

/**
 * {kind: [words for a node that meets the clause, for one that does not]}.
 *
 * @type {Record<string, string[]>}
 */
const KINDS = {
  required: ['has the trait', 'lacks'],
  required_any: ['has one of', 'has none of'],
  forbidden: ['lacks the trait', 'has'],
  exclusive: ['is not kept for requests that ask for', 'is kept for requests that ask for'],
  resource_class: ['is of the class', 'is not of the class'],
  expect: ['is what the rule expects:', 'not: is what the rule expects:'],
  topology: ['is in one group of', 'not: is in one group of'],
};
/**
 * The same for the clauses of the kind "eligible", by their value.
 *
 * @type {Record<string, string[]>}
 */
const ELIGIBLE = {
  'provision state': ['is available', 'is not available'],
  maintenance: ['is not in maintenance', 'is in maintenance'],
  instance: ['has no instance', 'has an instance'],
  'power state': ['has a known power state', 'has no known power state'],
  health: ['is healthy', 'is not healthy'],
  reserved: ['is not reserved', 'is reserved'],
  allocated: ['is not allocated in Placement', 'is allocated in Placement'],
  cloud: ['can be held in its cloud', 'cannot be held in its cloud'],
};

/**
 * Return a clause in words.
 *
 * @param {string} clause
 */
export function clauseWords(clause) {
  return inWords(clause, 0);
}

/**
 * Return why a node does not match, in words.
 *
 * @param {string} clause one that it does not meet.
 */
export function unmetWords(clause) {
  return inWords(clause, 1);
}

/**
 * @param {string} clause
 * @param {0 | 1} column of the tables.
 */
function inWords(clause, column) {
  const [kind, ...rest] = clause.split(':');
  const value = rest.join(':');
  const prefix = column ? 'not: ' : '';
  if (kind === 'eligible') return ELIGIBLE[value]?.[column] ?? prefix + value;
  const filter = filterName(kind);
  if (filter) return column ? `has another ${filter} than ${value}` : `has the ${filter} ${value}`;
  return `${KINDS[kind]?.[column] ?? prefix + kind} ${value.replaceAll(',', ', ')}`.trim();
}

/**
 * Return what a filter of a request is called in a sentence; undefined for another kind of clause.
 *
 * @param {string} kind
 */
function filterName(kind) {
  return requestFilters().includes(kind) ? COLUMNS[kind].label.toLowerCase() : undefined;
}

/**
 * The shortest words for what a clause asks for, by its kind. The others are in quotes.
 *
 * @type {Record<string, string>}
 */
const NAMES = { required: '', required_any: 'one of ', forbidden: 'not ', resource_class: 'class ' };

/**
 * Return what a clause asks for, as short as can be: its name, or its words in quotes.
 *
 * @param {string} clause
 */
function nameOf(clause) {
  const [kind, ...rest] = clause.split(':');
  const filter = filterName(kind);
  if (filter) return `${filter} ${rest.join(':')}`;
  return Object.hasOwn(NAMES, kind) ? NAMES[kind] + rest.join(':').replaceAll(',', ', ') : `“${clauseWords(clause)}”`;
}

/**
 * Return what a relaxation leaves out, in words.
 *
 * @param {string[]} drop
 */
export function withoutWords(drop) {
  return `Without ${drop.map(nameOf).join(' and ')}`;
}

/**
 * The same as a request.
 *
 * @param {string[]} drop clauses that a request can leave out.
 */
export function dropWords(drop) {
  return `Drop ${drop.map(nameOf).join(' and ')}`;
}

/**
 * Return the answer to a request in a sentence: "No node has CUSTOM_NOPE; without it 2 match".
 *
 * @param {{matched: number, considered: number, clauses: {clause: string, rejected: number}[],
 *   relaxations: {drop: string[], nodes: number}[]}} explanation of POST /v1/matches.
 */
export function verdict({ matched, considered, clauses, relaxations }) {
  const matches = (/** @type {number} */ count) => `${number(count)} match${count === 1 ? 'es' : ''}`;
  if (!considered) return 'There is no node';
  if (matched) return `${plural(matched, 'node')} of ${number(considered)} match${matched === 1 ? 'es' : ''}`;
  const [best] = relaxations;
  if (!best) return 'No node matches';
  const [first] = best.drop;
  const isAll = best.drop.length === 1 && clauses.some(({ clause, rejected }) => clause === first && rejected === considered);
  if (isAll && first.startsWith('required:')) return `No node has ${nameOf(first)}; without it ${matches(best.nodes)}`;
  return `No node matches; without ${best.drop.map(nameOf).join(' and ')} ${matches(best.nodes)}`;
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
