// Flavors and images as people have them: as JSON of several tools, or as lines with key=value.

/** @typedef {Record<string, unknown>} Document */

/**
 * Return {extra_specs} of a text; null for an empty one. Throws Error with a sentence for people.
 *
 * @param {string} text
 */
export function flavorOf(text) {
  const document = parsed(text, 'flavor');
  if (!document) return null;
  const flavor = checked(document.flavor ?? document, 'flavor');
  return { extra_specs: strings(dictionary(flavor.extra_specs) ?? dictionary(flavor.properties) ?? flavor) };
}

/**
 * Return {properties} of a text, or {id} if it has only an id; null for an empty one. Throws Error with a sentence for people.
 *
 * @param {string} text
 */
export function imageOf(text) {
  const document = parsed(text, 'image');
  if (!document) return null;
  const image = checked(document.image ?? document, 'image');
  if (Object.keys(image).join() === 'id') return { id: String(image.id) };
  return { properties: strings(dictionary(image.properties) ?? image) };
}

/**
 * Return a value as an object, or undefined. "openstack … show" may print one as text: a='b', c='d'.
 *
 * @param {unknown} value
 * @returns {object | undefined}
 */
function dictionary(value) {
  if (typeof value === 'string') {
    return Object.fromEntries([...value.matchAll(/([^\s,=']+)='([^']*)'/g)].map(([, name, text]) => [name, text]));
  }
  return value && typeof value === 'object' ? value : undefined;
}

/**
 * Return the flavors of a text, or the images: [{name, …}]; null for an empty one.
 *
 * The text is an object {name: value of the key}, or a list. Throws Error with a sentence for people.
 *
 * @param {string} text
 * @param {string} what
 * @param {'extra_specs' | 'properties'} key
 * @returns {Document[] | null}
 */
export function listOf(text, what, key) {
  if (!text.trim()) return null;
  let document;
  try {
    document = JSON.parse(text);
  } catch (error) {
    throw new Error(`The ${what} are not JSON: ${error.message}`, { cause: error });
  }
  const isObject = (/** @type {unknown} */ value) => value && typeof value === 'object' && !Array.isArray(value);
  if (isObject(document)) return Object.entries(document).map(([name, value]) => ({ name, [key]: value }));
  if (!Array.isArray(document) || !document.every(isObject)) {
    throw new Error(`The ${what} must be a JSON object, or a list of objects.`);
  }
  return document.map((each) => (key in each ? { name: each.name, [key]: each[key] } : each));
}

/**
 * @param {string} text
 * @param {string} what
 * @returns {Document | null}
 */
function parsed(text, what) {
  const trimmed = text.trim();
  if (!trimmed) return null;
  if (!trimmed.startsWith('{')) {
    const lines = trimmed.split('\n').map((line) => line.trim()).filter(Boolean);
    const pairs = lines.map((line) => /^([^=\s]+)\s*=\s*(\S.*)$/.exec(line));
    if (pairs.every(Boolean)) return Object.fromEntries(pairs.map((pair) => pair?.slice(1) ?? []));
  }
  let document;
  try {
    document = JSON.parse(trimmed);
  } catch (error) {
    throw new Error(`The ${what} is not JSON: ${error.message}. Lines like trait:HW_CPU_X86_VMX=required work, too.`, { cause: error });
  }
  return checked(document, what);
}

/**
 * Return a document that is an object. Throws Error with a sentence for people.
 *
 * @param {any} document
 * @param {string} what
 * @returns {Document}
 */
function checked(document, what) {
  if (!document || typeof document !== 'object' || Array.isArray(document)) throw new Error(`The ${what} must be a JSON object.`);
  return document;
}

/**
 * Return the entries that the service reads: traits and resources, as strings.
 *
 * @param {object} values
 */
function strings(values) {
  const entries = Object.entries(values).filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value));
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
}
