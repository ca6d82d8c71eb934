/**
 * JSON patch (RFC 6902) as release 1.24 carries it out (github.com/evanphx/json-patch 4.12), which is more lenient than the
 * standard: `replace` sets what is not there, a value that is left out is null, `copy` of what is not there gives null, and
 * what stands before the first slash of a path does not count.
 *
 * Why not fast-json-patch: it changes the document in place or clones all of it, where this copies only what changes;
 * and it has neither negative indexes nor a bound on what `copy` makes.
 */

import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { setMember } from '#apimachinery/collections/set-member.js';
import { jsonName } from '#apimachinery/errors/go-value.js';
import { quoted } from '#apimachinery/errors/shown.js';
import { badRequest, requestEntityTooLarge, unprocessable } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { checkValueDepth, jsonEqual, member } from '#apimachinery/patch/json-values.js';

/** More operations than that in one patch are refused. */
const maxOperations = 10_000;
/** `copy` operations must not add more JSON than this altogether. */
const maxCopiedBytes = 3 * 1024 * 1024;
/**
 * Elements of lists that may be shifted to make or fill gaps, by all operations together: ten thousand of them in lists of
 * as many elements. It takes a tenth of a second.
 */
const maxShifted = 100_000_000;

type Container = JsonObject | unknown[];

function isContainer(value: unknown): value is Container {
  return Array.isArray(value) || isJsonObject(value);
}

/** What stands in an operation; absent members differ from those that are null. */
type Operation = Readonly<JsonObject>;

const missing = 'missing value';

/** A member that is a string. `lacking`: what 1.24 says of an operation that does not have it. */
function textOf(operation: Operation, name: 'path' | 'from', lacking: string): string {
  const text = member(operation, name) ?? null;
  if (typeof text === 'string') return text;
  const why = `json: cannot unmarshal ${jsonName(text)} into Go value of type string`;
  throw unprocessable(
    `${String(member(operation, 'op'))} operation failed to decode ${name}: ${text === null ? lacking : why}`,
  );
}

/** The value of an operation; null where it has none. */
function operand(operation: Operation): unknown {
  return member(operation, 'value') ?? null;
}

/** The steps of a JSON pointer (RFC 6901), at least one; undefined for a pointer without a slash. */
function steps(pointer: string): [string, ...string[]] | undefined {
  const [, first, ...others] = pointer.split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  return first === undefined ? undefined : [first, ...others];
}

/** Why a step leads nowhere in what holds it. */
class NoPlace extends Error {
  override readonly name = 'NoPlace';
}

/** Index into a list, as Go's `strconv.Atoi` reads it; negative ones count from `end`, which none may reach. */
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

/** What a step of a container leads to; undefined for a member that is not there. */
function child(container: Container, step: string): unknown {
  return Array.isArray(container) ? container[indexOf(step, container.length)] : member(container, step);
}

/** The same where a step that leads nowhere is like a member that is not there. */
function childIfAny(container: Container, step: string): unknown {
  try {
    return child(container, step);
  } catch (error) {
    if (error instanceof NoPlace) return undefined;
    throw error;
  }
}

/** Where the last step of a path is taken. */
interface Place {
  readonly holder: Container;
  readonly last: string;
}

/** A document that operations are carried out on: what they change is copied first, and what they leave alone is shared. */
class Document {
  #root: unknown;
  /** The containers that are copies already, so that nobody else has them. */
  readonly #own = new Set<Container>();
  #copied = 0;
  #shifted = 0;

  constructor(root: unknown) {
    this.#root = root;
  }

  get root(): unknown {
    return this.#root;
  }

  /** Where a path leads, to be changed; undefined where it leads nowhere. */
  find(path: string): Place | undefined {
    return this.#walk(path, (value, put) => {
      const own = this.#owned(value);
      put(own);
      return own;
    });
  }

  /** The same, to be read. */
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

  /** Returns what was there. */
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

  /** Anything but an object or a list leaves the document as it is. */
  replaceAll(value: unknown): void {
    if (typeof value === 'object' && value !== null) this.#root = value;
  }

  /** A copy of a value, null of what is not there. */
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

  /** Takes out or puts in one element; returns what was taken out. */
  #splice(list: unknown[], index: number, taken: 0 | 1, ...put: readonly unknown[]): unknown {
    this.#shifted += list.length - index;
    if (this.#shifted > maxShifted) {
      throw requestEntityTooLarge(`The operations of a JSON patch may shift ${maxShifted} elements of lists at most`);
    }
    return list.splice(index, taken, ...put)[0];
  }

  #owned(container: Container): Container {
    if (this.#own.has(container)) return container;
    const copy = Array.isArray(container) ? [...container] : { ...container };
    this.#own.add(copy);
    return copy;
  }
}

/** What `take` returns; where it finds no place, the failure begins with `words`. */
function taken<T>(words: string, take: () => T): T {
  try {
    return take();
  } catch (error) {
    if (error instanceof NoPlace) throw unprocessable(`${words}${error.message}`);
    throw error;
  }
}

/** The place that a path leads to. `words`: what a failure begins with. */
function required(place: Place | undefined, path: string, words: string): Place {
  if (place === undefined) throw unprocessable(`${words}${path}: ${missing}`);
  return place;
}

function carryOut(document: Document, operation: Operation): void {
  const op = member(operation, 'op');
  switch (op) {
    case 'add':
    case 'remove': {
      const path = textOf(operation, 'path', missing);
      const place = document.find(path);
      if (place === undefined)
        throw unprocessable(`${op} operation does not apply: doc is missing path: "${path}": ${missing}`);
      taken(`error in ${op} for path: '${path}': `, () =>
        op === 'remove' ? document.remove(place) : document.add(place, operand(operation)),
      );
      return;
    }
    case 'replace':
      replace(document, operation);
      return;
    case 'move': {
      const from = textOf(operation, 'from', `operation, missing from field: ${missing}`);
      const source = required(document.find(from), from, 'move operation does not apply: doc is missing from path: ');
      const value = taken(`error in move for path: '${source.last}': `, () => document.remove(source));
      const path = textOf(operation, 'path', `operation missing path field: ${missing}`);
      const place = required(
        document.find(path),
        path,
        'move operation does not apply: doc is missing destination path: ',
      );
      taken(`error in move for path: '${path}': `, () => document.add(place, value));
      return;
    }
    case 'copy': {
      const from = textOf(operation, 'from', `operation, missing from field: ${missing}`);
      const source = required(document.look(from), from, 'copy operation does not apply: doc is missing from path: ');
      const value = taken(`error in copy for from: '${from}': `, () => child(source.holder, source.last));
      const path = textOf(operation, 'path', missing);
      const place = required(
        document.find(path),
        path,
        'copy operation does not apply: doc is missing destination path: ',
      );
      const copy = document.copyOf(value);
      taken('error while adding value during copy: ', () => document.add(place, copy));
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
  const path = textOf(operation, 'path', `operation missing path field: ${missing}`);
  if (path === '') {
    // 1.24 crashes where there is no value.
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

/** Absent members are equal to null. */
function test(document: Document, operation: Operation): void {
  const path = textOf(operation, 'path', `operation missing path field: ${missing}`);
  const value = member(operation, 'value');
  let actual = document.root;
  if (path !== '') {
    const { holder, last } = required(document.look(path), path, 'test operation does not apply: is missing path: ');
    actual = taken(`error in test for path: '${path}': `, () => child(holder, last)) ?? null;
  }
  if (value === undefined || !jsonEqual(actual, value)) {
    throw unprocessable(`testing value ${path} failed: test failed`);
  }
}

/** Operations that are null have nothing in them. Throws 400 for what is no list of objects. */
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
 * The patched document; neither it nor `patch` is changed, and what the patch leaves alone is shared. Throws 400
 * BadRequest for what is no list of objects, 413 for too many operations, and 422 for an operation that is none or does
 * not apply (a failed `test` among them).
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
