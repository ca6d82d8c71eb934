/**
 * JSON patch (RFC 6902), with the limits and the negative indexes of release 1.24.
 *
 * Why not fast-json-patch: it changes the document in place or clones all of it, where this copies only what changes;
 * and it has neither negative indexes nor a bound on what `copy` makes.
 */
import { badRequest, requestEntityTooLarge, unprocessable } from '#apimachinery/errors/status.js';
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

interface Operation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test';
  readonly path: string;
  readonly from: string;
  readonly value: unknown;
}

const needsValue = new Set(['add', 'replace', 'test']);
const needsFrom = new Set(['move', 'copy']);
const operations = new Set(['add', 'remove', 'replace', 'move', 'copy', 'test']);

function readOperation(value: unknown, index: number): Operation {
  if (!isObject(value)) throw badRequest(`error decoding patch: operation ${index}: not an object`);
  // 1.24 reads operations as any objects, and finds out what they lack when it carries them out.
  const refuse = (why: string) => unprocessable(`operation ${index}: ${why}`);
  const { op, path, from = '' } = value;
  if (typeof op !== 'string' || !operations.has(op)) throw refuse(`unexpected kind: ${JSON.stringify(op)}`);
  if (typeof path !== 'string') throw refuse('no path');
  if (typeof from !== 'string' || (needsFrom.has(op) && !Object.hasOwn(value, 'from'))) throw refuse('no from');
  if (needsValue.has(op) && !Object.hasOwn(value, 'value')) throw refuse('no value');
  return { op: op as Operation['op'], path, from, value: value.value };
}

/** The steps of a JSON pointer (RFC 6901). */
function steps(pointer: string): string[] {
  if (pointer === '') return [];
  if (!pointer.startsWith('/')) throw unprocessable(`path ${JSON.stringify(pointer)} does not begin with a slash`);
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Index into a list; negative ones count from the end (`end` is one behind the last place that may be named). */
function indexOf(step: string, end: number, path: string): number {
  if (!/^-?(0|[1-9][0-9]*)$/.test(step)) throw unprocessable(`${path}: ${JSON.stringify(step)} is no index`);
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

  get(path: string): unknown {
    let value = this.#root;
    for (const step of steps(path)) value = child(asContainer(value, path), step, path);
    return value;
  }

  add(path: string, value: unknown): void {
    const at = this.#holder(path);
    if (at === undefined) this.#root = value;
    else if (!Array.isArray(at.holder)) setMember(at.holder, at.last, value);
    else if (at.last === '-') at.holder.push(value);
    else this.#splice(at.holder, indexOf(at.last, at.holder.length + 1, path), 0, value);
  }

  remove(path: string): unknown {
    const at = this.#holder(path);
    if (at === undefined) throw unprocessable('the whole document cannot be removed');
    if (Array.isArray(at.holder)) return this.#splice(at.holder, indexOf(at.last, at.holder.length, path), 1);
    const value = member(at.holder, at.last);
    if (value === undefined) throw unprocessable(`${path}: unable to remove nonexistent key`);
    delete at.holder[at.last];
    return value;
  }

  replace(path: string, value: unknown): void {
    const at = this.#holder(path);
    if (at === undefined) this.#root = value;
    else if (Array.isArray(at.holder)) at.holder[indexOf(at.last, at.holder.length, path)] = value;
    else if (member(at.holder, at.last) === undefined)
      throw unprocessable(`${path}: replace operation does not apply: missing key`);
    else setMember(at.holder, at.last, value);
  }

  move(from: string, path: string): void {
    if (path.startsWith(`${from}/`)) throw unprocessable(`${path}: cannot move a value into itself`);
    this.add(path, this.remove(from));
  }

  copy(from: string, path: string): void {
    const value = this.get(from);
    if (value === undefined) throw unprocessable(`${from}: nothing to copy`);
    const text = JSON.stringify(value);
    this.#copied += text.length;
    if (this.#copied > maxCopiedBytes) throw unprocessable('copy operations add too much to the document');
    this.add(path, JSON.parse(text));
  }

  test(path: string, value: unknown): void {
    const actual = this.get(path) ?? null;
    if (!jsonEqual(actual, value)) throw unprocessable(`testing value ${path} failed: test failed`);
  }

  /** What holds the last step of a path, to be changed. */
  #holder(path: string): { holder: Container; last: string } | undefined {
    const all = steps(path);
    const last = all.pop();
    if (last === undefined) return undefined;
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
  switch (operation.op) {
    case 'add':
      document.add(operation.path, operation.value);
      return;
    case 'remove':
      document.remove(operation.path);
      return;
    case 'replace':
      document.replace(operation.path, operation.value);
      return;
    case 'move':
      document.move(operation.from, operation.path);
      return;
    case 'copy':
      document.copy(operation.from, operation.path);
      return;
    case 'test':
      document.test(operation.path, operation.value);
      return;
  }
}

/**
 * The patched document; neither it nor `patch` is changed, and what the patch leaves alone is shared. Throws 400
 * BadRequest for what is no list of objects, 413 for too many operations, and 422 for an operation that is none or does
 * not apply (a failed `test` among them).
 */
export function jsonPatch(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) throw badRequest('error decoding patch: not a list of operations');
  if (patch.length > maxOperations) {
    throw requestEntityTooLarge(
      `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${patch.length}`,
    );
  }
  checkValueDepth(patch);
  const document = new Document(target);
  for (const operation of patch.map(readOperation)) carryOut(document, operation);
  return document.root;
}
