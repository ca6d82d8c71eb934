/**
 * JSON patch (RFC 6902) as release 1.24 carries it out (github.com/evanphx/json-patch 4.12), which is more lenient than the
 * standard: `replace` sets what is not there, a value that is left out is null, `copy` of what is not there gives null, and
 * what stands before the first slash of a path does not count.
 *
 * Why not fast-json-patch: it changes the document in place or clones all of it, where this copies only what changes;
 * and it has neither negative indexes nor a bound on what `copy` makes.
 */
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import { jsonName } from '#apimachinery/errors/go-value.js';
import { badRequest, requestEntityTooLarge, unprocessable } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import {
  checkValueDepth,
  isObject,
  type JsonObject,
  jsonEqual,
  member,
  setMember,
} from '#apimachinery/patch/json-values.js';

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

/** What stands in an operation; absent members differ from those that are null. */
type Operation = Readonly<JsonObject>;

/** A member that is a string; the other operations of the patch may be carried out before it is asked for. */
function textOf(operation: Operation, name: 'path' | 'from'): string {
  const text = member(operation, name);
  if (typeof text !== 'string') throw unprocessable(`operation has no ${name}`);
  return text;
}

/** The value of an operation; null where it has none. */
function operand(operation: Operation): unknown {
  return member(operation, 'value') ?? null;
}

/** The steps of a JSON pointer (RFC 6901), at least one. */
function steps(pointer: string): [string, ...string[]] {
  const [, first, ...others] = pointer.split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  if (first === undefined) throw unprocessable(`doc is missing path: ${JSON.stringify(pointer)}`);
  return [first, ...others];
}

/** Index into a list, as Go's `strconv.Atoi` reads it; negative ones count from `end`, which none may reach. */
function indexOf(step: string, end: number, path: string): number {
  if (!/^[+-]?\d+$/.test(step)) throw unprocessable(`${path}: ${JSON.stringify(step)} is no index`);
  const number = Number(step);
  const index = number < 0 ? end + number : number;
  if (index < 0 || index >= end) throw unprocessable(`${path}: index ${step} is out of bounds`);
  return index;
}

function child(container: Container, step: string, path: string): unknown {
  if (Array.isArray(container)) return container[indexOf(step, container.length, path)];
  return member(container, step);
}

function asContainer(value: unknown, path: string): Container {
  if (Array.isArray(value) || isObject(value)) return value;
  throw unprocessable(`${path}: doc is missing path`);
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

  /** Undefined for a member that is not there. */
  get(path: string): unknown {
    let value = this.#root;
    for (const step of steps(path)) value = child(asContainer(value, path), step, path);
    return value;
  }

  add(path: string, value: unknown): void {
    const at = this.#holder(path);
    if (!Array.isArray(at.holder)) setMember(at.holder, at.last, value);
    else if (at.last === '-') at.holder.push(value);
    else this.#splice(at.holder, indexOf(at.last, at.holder.length + 1, path), 0, value);
  }

  remove(path: string): unknown {
    const at = this.#holder(path);
    if (Array.isArray(at.holder)) return this.#splice(at.holder, indexOf(at.last, at.holder.length, path), 1);
    const value = member(at.holder, at.last);
    if (value === undefined) throw unprocessable(`${path}: unable to remove nonexistent key`);
    delete at.holder[at.last];
    return value;
  }

  replace(path: string, value: unknown): void {
    const at = this.#holder(path);
    if (Array.isArray(at.holder)) at.holder[indexOf(at.last, at.holder.length, path)] = value;
    else setMember(at.holder, at.last, value);
  }

  /** Anything but an object or a list leaves the document as it is. */
  replaceAll(value: unknown): void {
    if (value === undefined) throw unprocessable('replace operation has no value');
    if (typeof value === 'object' && value !== null) this.#root = value;
  }

  copy(from: string, path: string): void {
    const value = this.get(from);
    const text = value === undefined ? '' : toJSONText(value);
    this.#copied += Buffer.byteLength(text);
    if (this.#copied > maxCopiedBytes) throw unprocessable('copy operations add too much to the document');
    this.add(path, value === undefined ? null : parseJSONText(text));
  }

  /** Absent members are equal to null. */
  test(path: string, value: unknown): void {
    const actual = path === '' ? this.#root : (this.get(path) ?? null);
    if (value === undefined || !jsonEqual(actual, value))
      throw unprocessable(`testing value ${path} failed: test failed`);
  }

  /** What holds the last step of a path, to be changed. */
  #holder(path: string): { holder: Container; last: string } {
    const all = steps(path);
    const last = all.pop() as string;
    let holder = this.#owned(asContainer(this.#root, path));
    this.#root = holder;
    for (const step of all) {
      const next = this.#owned(asContainer(child(holder, step, path), path));
      if (Array.isArray(holder)) holder[indexOf(step, holder.length, path)] = next;
      else setMember(holder, step, next);
      holder = next;
    }
    return { holder, last };
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

function carryOut(document: Document, operation: Operation): void {
  const path = () => textOf(operation, 'path');
  const from = () => textOf(operation, 'from');
  const op = member(operation, 'op');
  switch (op) {
    case 'add':
      document.add(path(), operand(operation));
      return;
    case 'remove':
      document.remove(path());
      return;
    case 'replace':
      if (path() === '') document.replaceAll(member(operation, 'value'));
      else document.replace(path(), operand(operation));
      return;
    case 'move': {
      const value = document.remove(from());
      document.add(path(), value);
      return;
    }
    case 'copy':
      document.copy(from(), path());
      return;
    case 'test':
      document.test(path(), member(operation, 'value'));
      return;
    default:
      throw unprocessable(`unexpected kind: ${typeof op === 'string' ? op : 'unknown'}`);
  }
}

/** Operations that are null have nothing in them. Throws 400 for what is no list of objects. */
function operationsOf(patch: unknown): readonly Operation[] {
  if (patch === null) return [];
  if (!Array.isArray(patch))
    throw badRequest(`json: cannot unmarshal ${jsonName(patch)} into Go value of type jsonpatch.Patch`);
  return patch.map((operation: unknown) => {
    if (isObject(operation)) return operation;
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
