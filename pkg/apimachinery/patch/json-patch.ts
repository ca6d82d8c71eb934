/**
 * JSON patch (RFC 6902) like release 1.24 (github.com/evanphx/json-patch 4.12), which is more lenient than the
 * standard: `replace` adds missing members, an absent value is null, `copy` of a missing value gives null, and text
 * before the first slash of a path is ignored.
 *  Not fast-json-patch: it modifies the document or clones all of it, while this code copies only what changes; it also
 *  lacks negative indexes and a limit on `copy`.
 */

import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { setMember } from '#apimachinery/collections/set-member.js';
import { jsonName } from '#apimachinery/errors/go-value.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import { badRequest, requestEntityTooLarge, unprocessable } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { checkValueDepth, jsonEqual, member } from '#apimachinery/patch/json-values.js';

/** Maximum operations per patch. */
const maxOperations = 10_000;
/** Maximum bytes of JSON that all `copy` operations may add. */
const maxCopiedBytes = 3 * 1024 * 1024;
/**
 * Maximum number of list elements that all operations together may shift: ten thousand shifts in lists of ten thousand
 * elements take a tenth of a second.
 */
const maxShifted = 100_000_000;

type Container = JsonObject | unknown[];

function isContainer(value: unknown): value is Container {
  return Array.isArray(value) || isJsonObject(value);
}

/** An operation; absent members differ from null ones. */
type Operation = Readonly<JsonObject>;

const missing = 'missing value';

/** A string member. `lacking`: the message of 1.24 if it is absent. */
function stringMember(operation: Operation, name: 'path' | 'from', lacking: string): string {
  const text = member(operation, name) ?? null;
  if (typeof text === 'string') return text;
  const why = `json: cannot unmarshal ${jsonName(text)} into Go value of type string`;
  throw unprocessable(
    `${String(member(operation, 'op'))} operation failed to decode ${name}: ${text === null ? lacking : why}`,
  );
}

/** The value of an operation; null if absent. */
function operand(operation: Operation): unknown {
  return member(operation, 'value') ?? null;
}

/** The steps of a JSON pointer (RFC 6901), at least one; undefined for a pointer without slash. */
function steps(pointer: string): [string, ...string[]] | undefined {
  const [, first, ...others] = pointer.split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return first === undefined ? undefined : [first, ...others];
}

/** A step cannot be resolved in its container. */
class NoPlace extends Error {
  override readonly name = 'NoPlace';
}

/** A list index in the syntax of Go's `strconv.Atoi`; negative ones count from `end`, which is exclusive. */
function indexOf(step: string, end: number): number {
  const number = Number(step);
  if (!/^[+-]?\d+$/.test(step) || !Number.isSafeInteger(number)) {
    const why = /^[+-]?\d+$/.test(step) ? 'value out of range' : 'invalid syntax';
    throw new NoPlace(`strconv.Atoi: parsing ${quoted(step)}: ${why}`);
  }
  const index = number < 0 ? end + number : number;
  if (index < 0 || index >= end)
    throw new NoPlace(`Unable to access invalid index: ${number}: invalid index referenced`);
  return index;
}

/** The value at a step of a container; undefined for an absent member. */
function child(container: Container, step: string): unknown {
  return Array.isArray(container) ? container[indexOf(step, container.length)] : member(container, step);
}

/** Like `child`, but an unresolvable step counts as an absent member. */
function childIfAny(container: Container, step: string): unknown {
  try {
    return child(container, step);
  } catch (error) {
    if (error instanceof NoPlace) return undefined;
    throw error;
  }
}

/** The target of a path: the container and the last step. */
interface Place {
  readonly holder: Container;
  readonly last: string;
}

/** The document under operation: modified containers are copied first, all others are shared. */
class Document {
  #root: unknown;
  /** Containers that are copies of this document's own. */
  readonly #own = new Set<Container>();
  #copied = 0;
  #shifted = 0;

  constructor(root: unknown) {
    this.#root = root;
  }

  get root(): unknown {
    return this.#root;
  }

  /** The target of a path for modification; undefined if it cannot be resolved. */
  find(path: string): Place | undefined {
    return this.#walk(path, (value, put) => {
      const own = this.#owned(value);
      put(own);
      return own;
    });
  }

  /** The target of a path for reading; undefined if it cannot be resolved. */
  look(path: string): Place | undefined {
    return this.#walk(path, (value) => value);
  }

  #walk(path: string, enter: (value: Container, put: (own: Container) => void) => Container): Place | undefined {
    const all = steps(path);
    const last = all?.pop();
    if (all === undefined || last === undefined || !isContainer(this.#root)) return undefined;
    let holder = enter(this.#root, (own) => {
      this.#root = own;
    });
    for (const step of all as readonly string[]) {
      const value = childIfAny(holder, step);
      if (!isContainer(value)) return undefined;
      const outer = holder;
      holder = enter(value, (own) => {
        if (Array.isArray(outer)) outer[indexOf(step, outer.length)] = own;
        else setMember(outer, step, own);
      });
    }
    return { holder, last };
  }

  add({ holder, last }: Place, value: unknown): void {
    if (!Array.isArray(holder)) setMember(holder, last, value);
    else if (last === '-') holder.push(value);
    else this.#splice(holder, indexOf(last, holder.length + 1), 0, value);
  }

  /** Returns the removed value. */
  remove({ holder, last }: Place): unknown {
    if (Array.isArray(holder)) return this.#splice(holder, indexOf(last, holder.length), 1);
    const value = member(holder, last);
    if (value === undefined) throw new NoPlace(`Unable to remove nonexistent key: ${last}: ${missing}`);
    delete holder[last];
    return value;
  }

  replace({ holder, last }: Place, value: unknown): void {
    if (Array.isArray(holder)) holder[indexOf(last, holder.length)] = value;
    else setMember(holder, last, value);
  }

  /** Ignores values that are neither objects nor lists. */
  replaceAll(value: unknown): void {
    if (typeof value === 'object' && value !== null) this.#root = value;
  }

  /** A copy of a value; null if it is absent. */
  copyOf(value: unknown): unknown {
    if (value === undefined) return null;
    const text = toJSONText(value);
    this.#copied += Buffer.byteLength(text);
    if (this.#copied > maxCopiedBytes) {
      const sizes = `${this.#copied}, exceeding the limit ${maxCopiedBytes}`;
      throw unprocessable(`Unable to complete the copy, the accumulated size increase of copy is ${sizes}`);
    }
    return parseJSONText(text);
  }

  /** Inserts or removes one element; returns the removed one. */
  #splice(list: unknown[], index: number, deleteCount: 0 | 1, ...put: readonly unknown[]): unknown {
    this.#shifted += list.length - index;
    if (this.#shifted > maxShifted) {
      throw requestEntityTooLarge(`The operations of a JSON patch may shift ${maxShifted} elements of lists at most`);
    }
    return list.splice(index, deleteCount, ...put)[0];
  }

  #owned(container: Container): Container {
    if (this.#own.has(container)) return container;
    const copy = Array.isArray(container) ? [...container] : { ...container };
    this.#own.add(copy);
    return copy;
  }
}

/** Runs an action; if a step cannot be resolved, the error begins with `words`. */
function atPlace<T>(words: string, take: () => T): T {
  try {
    return take();
  } catch (error) {
    if (error instanceof NoPlace) throw unprocessable(`${words}${error.message}`);
    throw error;
  }
}

/** The resolved target of a path. `words`: the beginning of the error. */
function required(place: Place | undefined, path: string, words: string): Place {
  if (place === undefined) throw unprocessable(`${words}${path}: ${missing}`);
  return place;
}

function carryOut(document: Document, operation: Operation): void {
  const op = member(operation, 'op');
  switch (op) {
    case 'add':
    case 'remove': {
      const path = stringMember(operation, 'path', missing);
      const place = document.find(path);
      if (place === undefined)
        throw unprocessable(`${op} operation does not apply: doc is missing path: "${path}": ${missing}`);
      atPlace(`error in ${op} for path: '${path}': `, () =>
        op === 'remove' ? document.remove(place) : document.add(place, operand(operation)),
      );
      return;
    }
    case 'replace':
      replace(document, operation);
      return;
    case 'move': {
      const from = stringMember(operation, 'from', `operation, missing from field: ${missing}`);
      const source = required(document.find(from), from, 'move operation does not apply: doc is missing from path: ');
      const value = atPlace(`error in move for path: '${source.last}': `, () => document.remove(source));
      const path = stringMember(operation, 'path', `operation missing path field: ${missing}`);
      const place = required(
        document.find(path),
        path,
        'move operation does not apply: doc is missing destination path: ',
      );
      atPlace(`error in move for path: '${path}': `, () => document.add(place, value));
      return;
    }
    case 'copy': {
      const from = stringMember(operation, 'from', `operation, missing from field: ${missing}`);
      const source = required(document.look(from), from, 'copy operation does not apply: doc is missing from path: ');
      const value = atPlace(`error in copy for from: '${from}': `, () => child(source.holder, source.last));
      const path = stringMember(operation, 'path', missing);
      const place = required(
        document.find(path),
        path,
        'copy operation does not apply: doc is missing destination path: ',
      );
      const copy = document.copyOf(value);
      atPlace('error while adding value during copy: ', () => document.add(place, copy));
      return;
    }
    case 'test':
      test(document, operation);
      return;
    default:
      throw unprocessable(`Unexpected kind: ${typeof op === 'string' ? op : 'unknown'}`);
  }
}

function replace(document: Document, operation: Operation): void {
  const path = stringMember(operation, 'path', `operation missing path field: ${missing}`);
  if (path === '') {
    // 1.24 crashes if there is no value.
    if (member(operation, 'value') === undefined) throw unprocessable('replace operation has no value');
    document.replaceAll(operand(operation));
    return;
  }
  const place = required(document.find(path), path, 'replace operation does not apply: doc is missing path: ');
  try {
    document.replace(place, operand(operation));
  } catch (error) {
    if (!(error instanceof NoPlace)) throw error;
    throw unprocessable(`replace operation does not apply: doc is missing key: ${path}: ${missing}`);
  }
}

/** Absent members equal null. */
function test(document: Document, operation: Operation): void {
  const path = stringMember(operation, 'path', `operation missing path field: ${missing}`);
  const value = member(operation, 'value');
  let actual = document.root;
  if (path !== '') {
    const { holder, last } = required(document.look(path), path, 'test operation does not apply: is missing path: ');
    actual = atPlace(`error in test for path: '${path}': `, () => child(holder, last)) ?? null;
  }
  if (value === undefined || !jsonEqual(actual, value)) {
    throw unprocessable(`testing value ${path} failed: test failed`);
  }
}

/** A null operation is empty. Throws 400 if the patch is not a list of objects. */
function operationsOf(patch: unknown): readonly Operation[] {
  if (patch === null) return [];
  if (!Array.isArray(patch))
    throw badRequest(`json: cannot unmarshal ${jsonName(patch)} into Go value of type jsonpatch.Patch`);
  return patch.map((operation: unknown) => {
    if (isJsonObject(operation)) return operation;
    if (operation === null) return {};
    throw badRequest(`json: cannot unmarshal ${jsonName(operation)} into Go value of type jsonpatch.Operation`);
  });
}

/**
 * The patched document; modifies no arguments and shares unchanged parts. Throws 400 BadRequest if the patch is not a
 * list of objects, 413 for too many operations, and 422 for an invalid or failing operation, including a failed `test`.
 */
export function jsonPatch(target: unknown, patch: unknown): unknown {
  const operations = operationsOf(patch);
  if (operations.length > maxOperations) {
    throw requestEntityTooLarge(
      `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${operations.length}`,
    );
  }
  checkValueDepth(patch);
  const document = new Document(target);
  for (const operation of operations) carryOut(document, operation);
  return document.root;
}
