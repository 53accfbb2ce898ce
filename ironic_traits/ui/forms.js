// Forms that show the parameters of the place.
import { ApiError } from './api.js';
import { useEffect, useLayoutEffect, useRef } from './vendor/hooks.js';

/**
 * Show the parameters of the place in a form. Returns the ref of the form.
 *
 * The form stays the same when the parameters change, so that it keeps the focus.
 *
 * @param {string[]} names names of the fields, which are those of the parameters.
 * @param {URLSearchParams} parameters
 * @param {FieldError | null} wrong what is wrong with the parameters. Its field gets the focus.
 */
export function useFields(names, parameters, wrong = null) {
  const form = useRef(/** @type {HTMLFormElement | null} */ (null));
  const values = names.map((name) => parameters.get(name) ?? '');
  useLayoutEffect(() => {
    names.forEach((name, index) => {
      const field = form.current?.elements.namedItem(name);
      if (field && 'value' in field) field.value = values[index];
    });
  }, [JSON.stringify(values)]);
  useEffect(() => {
    const field = wrong && form.current?.elements.namedItem(wrong.field);
    // The user may enter something else when the service responds.
    const isLate = wrong?.cause instanceof ApiError && document.activeElement?.matches('input, textarea, select');
    if (field instanceof HTMLElement && !isLate) field.focus();
  }, [wrong?.message]);
  return form;
}

/**
 * Return the values of fields of a form: {name: text}; null for an empty one, which the URL leaves out.
 *
 * @param {HTMLFormElement} form
 * @param {string[]} names
 */
export function fieldsOf(form, names) {
  const values = new FormData(form);
  return Object.fromEntries(names.map((name) => [name, String(values.get(name) ?? '').trim() || null]));
}

/**
 * Return the names of traits in a text, in capitals.
 *
 * @param {string} text
 */
export function namesIn(text) {
  return text.toUpperCase().split(/[\s,]+/).filter(Boolean);
}

/** A sentence for people about what is wrong with a field. */
export class FieldError extends Error {
  /**
   * @param {string} field its name.
   * @param {string} message
   * @param {unknown} cause
   */
  constructor(field, message, cause = undefined) {
    super(message, { cause });
    this.field = field;
  }
}

/**
 * Return an error of the service as one of the field with the trait that its message names; null if there is none.
 *
 * @param {any} error an ApiError, or none.
 * @param {string[]} fields names of fields with traits.
 * @param {URLSearchParams} parameters their values.
 */
export function atTrait(error, fields, parameters) {
  if (error?.status !== 400) return null;
  const isNamed = (/** @type {string} */ name) => error.message.includes(`'${name}' is not a trait`);
  const field = fields.find((each) => namesIn(parameters.get(each) ?? '').some(isNamed));
  return field ? new FieldError(field, error.message, error) : null;
}

/**
 * Return what read returns. If it throws, the error is one of the field.
 *
 * @template T
 * @param {string} field
 * @param {() => T} read
 */
export function inField(field, read) {
  try {
    return read();
  } catch (error) {
    throw new FieldError(field, error.message, error);
  }
}
