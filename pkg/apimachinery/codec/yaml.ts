/** YAML as clients write it: the types of YAML 1.1 that JSON has too, aliases only in moderation. */

import {
  Composer,
  type CreateNodeOptions,
  type CST,
  type DocumentOptions,
  isAlias,
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Pair,
  type ParseOptions,
  Parser,
  type ScalarTag,
  type SchemaOptions,
  stringify,
  type Tags,
  type ToJSOptions,
  type YAMLMap,
} from 'yaml';
import { allSteps, type Steps } from '#apimachinery/async/steps.js';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { duplicateKeys } from '#apimachinery/codec/json/duplicate-keys.js';
import { repeatedKey } from '#apimachinery/codec/json/repeated-keys.js';
import { parseJSONSteps } from '#apimachinery/codec/json/text-steps.js';
import { checkDepth } from '#apimachinery/codec/json/walk.js';
import { messageOf } from '#apimachinery/errors/message.js';

/** Tags that make anything but JSON values, and numbers to the base of 60 (`12:30`), which stay texts. */
const refused = new Set(['binary', 'omap', 'pairs', 'set', 'timestamp'].map((name) => `tag:yaml.org,2002:${name}`));

type Tag = Tags[number];

const bool = 'tag:yaml.org,2002:bool';
const wordsOfBool = /^(?:[Yy]es|YES|[Nn]o|NO|[Tt]rue|TRUE|[Ff]alse|FALSE|[Oo]n|ON|[Oo]ff|OFF)$/;

function isJSONTag(tag: Tag): boolean {
  return typeof tag === 'string' || (!refused.has(tag.tag) && !('format' in tag && tag.format === 'TIME'));
}

/** `y` and `n` stay texts: they are names of coordinates more often than answers. */
function withoutLetters(tag: Tag): Tag {
  if (typeof tag === 'string' || tag.tag !== bool || !('test' in tag) || !(tag.test instanceof RegExp)) return tag;
  const { test } = tag;
  const narrowed: ScalarTag = { ...(tag as ScalarTag), test: new RegExp(`(?=${wordsOfBool.source})${test.source}`) };
  return narrowed;
}

const options: ParseOptions & DocumentOptions & SchemaOptions & ToJSOptions & CreateNodeOptions = {
  version: '1.1',
  merge: true,
  // The library compares each key with all others: see `DocumentCheck`.
  uniqueKeys: false,
  // A document that repeats itself through aliases grows without bounds.
  maxAliasCount: 100,
  // Warnings would go to the process's standard error.
  logLevel: 'error',
  customTags: (tags: Tags): Tags => tags.filter(isJSONTag).map(withoutLetters),
};

/**
 * Nesting of a document; deeper ones are refused. The library descends once per level, and a process that runs out of
 * stack inside it does not survive.
 */
const maxYamlDepth = 500;

/** Tokens of a document, as long as it does not nest too deeply. */
function* tokens(text: string, lines?: LineCounter): Generator<CST.Token> {
  lines?.addNewLine(0);
  const parser = new Parser(lines?.addNewLine);
  for (const lexeme of new Lexer().lex(text)) {
    yield* parser.next(lexeme);
    if (parser.stack.length > maxYamlDepth) throw new DecodeError('yaml: exceeded max depth');
  }
  yield* parser.end();
}

/**
 * The value with everything that aliases share copied, since callers change what they read. What an alias repeats counts
 * each time (`left`), so that neither one inside itself nor many of one big value make a small text huge.
 */
function plain(value: unknown, state: { depth: number; left: number }): unknown {
  state.left -= typeof value === 'string' ? value.length + 1 : 1;
  if (state.left < 0) throw new DecodeError('yaml: aliases repeat too much');
  if (typeof value !== 'object' || value === null) return value;
  state.depth += 1;
  if (state.depth > maxYamlDepth) throw new DecodeError('yaml: exceeded max depth');
  const copy = Array.isArray(value)
    ? value.map((element) => plain(element, state))
    : Object.fromEntries(Object.entries(value).map(([key, member]) => [key, plain(member, state)]));
  state.depth -= 1;
  return copy;
}

/** Members that merges (`<<: *name`) may copy altogether; each costs far less than it takes to write one. */
const maxMerged = 50_000;

const isMerge = (key: unknown) => key === '<<' || typeof key === 'symbol';

/** Told of a key that its map has already, after what stands in its value. */
type OnRepeated = (pair: Pair, name: unknown) => void;

/**
 * What the library leaves to us, or does at a cost that grows with the square of the document: finds keys that a map has
 * twice, and limits what merges copy. One walk.
 */
class DocumentCheck {
  /** Members of what an anchor names, those that are merged into it included. */
  readonly #sizes = new Map<string, number>();
  readonly #onRepeated: OnRepeated;
  #merged = 0;

  constructor(onRepeated: OnRepeated) {
    this.#onRepeated = onRepeated;
  }

  /** How many members the node has. Throws a DecodeError. */
  visit(node: unknown): number {
    let size = 0;
    if (isMap(node)) size = this.#map(node);
    else if (isSeq(node)) for (const item of node.items) size += isPair(item) ? this.#pair(item) : this.visit(item);
    else if (isAlias(node)) return this.#sizes.get(node.source) ?? 0;
    if (isCollection(node) && node.anchor !== undefined) this.#sizes.set(node.anchor, size);
    return size;
  }

  #pair({ key, value }: Pair): number {
    this.visit(key);
    this.visit(value);
    return 1;
  }

  #map(map: YAMLMap): number {
    const seen = new Set<unknown>();
    let size = map.items.length;
    for (const pair of map.items) {
      const { key, value } = pair;
      const name = isScalar(key) ? key.value : key;
      if (isMerge(name)) {
        // Several maps may be merged into one.
        const members = this.visit(value);
        size += members;
        this.#merged += members;
        if (this.#merged > maxMerged) throw new DecodeError('yaml: aliases repeat too much');
        continue;
      }
      this.visit(key);
      this.visit(value);
      if (seen.has(name)) this.#onRepeated(pair, name);
      seen.add(name);
    }
    return size;
  }
}

function offsetOf(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}

/** For documents that no key may stand in twice. */
function refuseRepeated(text: string): OnRepeated {
  return ({ key }) => {
    throw new DecodeError(`yaml: Map keys must be unique${place(text, offsetOf(key) ?? 0)}`);
  };
}

function place(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n');
  return ` at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

/**
 * The value of a document that is JSON, as programs write it, which is read a hundred times as fast; undefined for what is
 * none, and for what takes a closer look.
 */
function* jsonValue(text: string): Steps<unknown> {
  if (!/^\s*\{/.test(text)) return undefined;
  let value: unknown;
  try {
    value = yield* parseJSONSteps(text);
  } catch {
    return undefined;
  }
  yield;
  checkDepth(value, maxYamlDepth);
  yield;
  return duplicateKeys(text, 1).length === 0 ? value : undefined;
}

/** Whether a document is JSON and thus read as fast as that. */
export function readsFast(text: string): boolean {
  try {
    return allSteps(jsonValue(text)) !== undefined;
  } catch {
    // Refused, which is fast, too.
    return true;
  }
}

/** The JSON value of a document in which no key comes twice. Throws a DecodeError, which names the place. */
export function parseYAML(text: string): unknown {
  return allSteps(jsonValue(text)) ?? readable(() => composed(text, refuseRepeated(text)));
}

export interface ReadYAML {
  readonly value: unknown;
  /** Keys that a map has twice, of which the last counts: see `repeatedKey`. */
  readonly repeated: readonly string[];
}

/** As many repeated keys are told at most. */
const maxRepeated = 100;

/** The JSON value of a document as clients send it. Throws a DecodeError, which names the place. */
export function readYAML(text: string): ReadYAML {
  return allSteps(readYAMLSteps(text));
}

/** The same in steps, as far as the document is JSON. */
export function* readYAMLSteps(text: string): Steps<ReadYAML> {
  const value = yield* jsonValue(text);
  if (value !== undefined) return { value, repeated: [] };
  const repeated: string[] = [];
  const lines = new LineCounter();
  const onRepeated: OnRepeated = ({ key, value: of }, name) => {
    // 1.24 names the line of the value.
    if (repeated.length < maxRepeated)
      repeated.push(repeatedKey(name, lines.linePos(offsetOf(of) ?? offsetOf(key) ?? 0).line));
  };
  return readable(() => ({ value: composed(text, onRepeated, lines), repeated }));
}

function composed(text: string, onRepeated: OnRepeated, lines?: LineCounter): unknown {
  const [document, ...more] = new Composer(options).compose(tokens(text, lines), true);
  refuseErrors(document, text);
  if (more.length > 0) throw new DecodeError('yaml: more than one document');
  return valueIn(document, text, onRepeated);
}

/** The values of all documents, as of a file of manifests; null for one without any. Throws a DecodeError. */
export function parseYAMLDocuments(text: string): unknown[] {
  return readable(() =>
    [...new Composer(options).compose(tokens(text), true)].map((document) => {
      refuseErrors(document, text);
      return valueIn(document, text, refuseRepeated(text));
    }),
  );
}

type Composed = ReturnType<Composer['end']> extends Generator<infer D> ? D : never;

function refuseErrors(document: Composed | undefined, text: string): void {
  const problem = document?.errors[0];
  if (problem !== undefined) throw new DecodeError(`yaml: ${problem.message}${place(text, problem.pos[0])}`);
}

function valueIn(document: Composed | undefined, text: string, onRepeated: OnRepeated): unknown {
  new DocumentCheck(onRepeated).visit(document?.contents);
  return plain(document?.toJS(options), { depth: 0, left: 16 * text.length + 4096 });
}

/** What the library throws is about the document. */
function readable<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof DecodeError) throw error;
    const message = messageOf(error);
    throw new DecodeError(`yaml: ${message}`, { cause: error });
  }
}

/** Characters of JSON that take the library less than some twenty milliseconds to write. */
const maxWritten = 64 * 1024;

/**
 * As `encodeYAML`, but that large objects are written as JSON, which is YAML, too: servers must not be held up by what
 * nobody reads with their own eyes.
 */
export function encodeYAMLFast(object: unknown): Buffer {
  const json = JSON.stringify(object);
  return json.length > maxWritten ? Buffer.from(`${json}\n`) : encodeYAML(object);
}

export function encodeYAML(object: unknown): Buffer {
  return Buffer.from(stringify(object, { version: '1.1', aliasDuplicateObjects: false, lineWidth: 0 }));
}
