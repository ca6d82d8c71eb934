/** Converts YAML documents to JSON like sigs.k8s.io/yaml 1.2 on go-yaml for release 1.24. */
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { type AliasNode, type MappingNode, maxYamlDepth, type Node } from '#apimachinery/codec/yaml/nodes.js';
import { resolveScalar, type Scalar } from '#apimachinery/codec/yaml/resolve.js';
import { YamlError } from '#apimachinery/codec/yaml/yaml-error.js';
import { setMember } from '#apimachinery/collections/set-member.js';
import { goFloat } from '#apimachinery/errors/go-value.js';
import { NumberLiteral, numberOf } from '#apimachinery/json-text.js';

/** Formats a double as a map key: 1.24 uses its 32-bit precision. */
function floatKey(value: number): string {
  if (Number.isNaN(value)) return '.nan';
  const float = Math.fround(value);
  if (!Number.isFinite(float)) return float > 0 ? '.inf' : '-.inf';
  for (let digits = 0; ; digits++) {
    const text = float.toExponential(digits);
    if (Math.fround(Number(text)) === float) return goFloat(float, text);
  }
}

/** Called for a key that its map already has, with the value's line (from one). */
export type OnRepeated = (key: Scalar, line: number) => void;

const mergeTag = 'tag:yaml.org,2002:merge';

/** Limits of characters and nodes repeated by aliases: per character of the text, and a minimum. */
const repeatedPerCharacter = 16;
const alwaysRepeated = 64 * 1024;

type JsonObject = Record<string, unknown>;

/** A map under construction: YAML distinguishes some keys that are equal in JSON. */
interface OpenMap {
  readonly object: JsonObject;
  readonly keys: Set<Scalar>;
}

/**
 * Throws a YamlError for values that JSON lacks, recursive values, and documents that aliases expand out of proportion
 * to `length`, the characters of the text.
 */
export function jsonValue(node: Node, length: number, onRepeated: OnRepeated): unknown {
  const value = new Converter(length, onRepeated).value(node);
  checkNumbers(value);
  return value;
}

/** Checks numbers after merging, when overridden members are gone. Throws a YamlError for those that JSON lacks. */
function checkNumbers(value: unknown): void {
  if (typeof value === 'number') {
    if (Number.isFinite(value)) return;
    const shown = Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
    throw new DecodeError(`json: unsupported value: ${shown}`);
  }
  if (typeof value === 'object' && value !== null) for (const part of Object.values(value)) checkNumbers(part);
}

class Converter {
  readonly #onRepeated: OnRepeated;
  /** Aliases being expanded. */
  readonly #open = new Set<AliasNode>();
  #depth = 0;
  #nodes = 0;
  #repeatedNodes = 0;
  #left: number;

  constructor(length: number, onRepeated: OnRepeated) {
    this.#left = repeatedPerCharacter * length + alwaysRepeated;
    this.#onRepeated = onRepeated;
  }

  value(node: Node): unknown {
    this.#count();
    // Nesting of nodes is limited by the parser, but aliases may nest further.
    if (++this.#depth > maxYamlDepth) throw new YamlError('exceeded max depth');
    const value = this.#valueHere(node);
    this.#depth--;
    return value;
  }

  #valueHere(node: Node): unknown {
    switch (node.kind) {
      case 'alias':
        return this.#through(node, () => this.value(node.target));
      case 'scalar':
        return jsonScalar(this.#scalar(node));
      case 'sequence':
        return node.children.map((child) => this.value(child));
      case 'mapping': {
        const map: OpenMap = { object: {}, keys: new Set() };
        this.#fill(map, node);
        return map.object;
      }
    }
  }

  /** 1.24's own limits for large documents apply first. */
  #count(): void {
    this.#nodes++;
    if (this.#open.size === 0) return;
    this.#repeatedNodes++;
    const share = this.#repeatedNodes / this.#nodes;
    if (this.#repeatedNodes > 100 && this.#nodes > 1000 && share > allowedShare(this.#nodes)) {
      throw new YamlError('document contains excessive aliasing');
    }
    this.#spend(1);
  }

  #spend(size: number): void {
    this.#left -= size;
    if (this.#left < 0) throw new YamlError('document contains excessive aliasing');
  }

  #through<T>(alias: AliasNode, follow: () => T): T {
    if (this.#open.has(alias)) throw new YamlError(`anchor '${alias.name}' value contains itself`);
    this.#open.add(alias);
    const result = follow();
    this.#open.delete(alias);
    return result;
  }

  #scalar(node: Node & { kind: 'scalar' }): Scalar {
    if (this.#open.size > 0) this.#spend(node.value.length);
    return resolveScalar(node);
  }

  #fill(map: OpenMap, { children }: MappingNode): void {
    for (let i = 0; i < children.length; i += 2) {
      const key = children[i] as Node;
      const value = children[i + 1] as Node;
      if (isMerge(key)) this.#merge(map, value);
      else this.#member(map, this.#key(key), value);
    }
  }

  #member({ object, keys }: OpenMap, key: Scalar, node: Node): void {
    const value = this.value(node);
    // NaN is never equal to itself.
    if (keys.has(key) && !Number.isNaN(key)) this.#onRepeated(key, node.line + 1);
    keys.add(key);
    setMember(object, keyText(key), value);
  }

  #key(node: Node): Scalar {
    this.#count();
    if (node.kind === 'alias') {
      const { target } = node;
      return this.#through(node, () => this.#key(target));
    }
    if (node.kind !== 'scalar') throw new YamlError('invalid map key');
    return this.#scalar(node);
  }

  /** Merges members of other maps; the first of several wins. */
  #merge(map: OpenMap, node: Node): void {
    if (node.kind === 'sequence') {
      for (const each of node.children.toReversed()) this.#mergeOne(map, each);
    } else this.#mergeOne(map, node);
  }

  #mergeOne(map: OpenMap, node: Node): void {
    this.#count();
    if (node.kind === 'mapping') this.#fill(map, node);
    else if (node.kind === 'alias' && node.target.kind === 'mapping') {
      const { target } = node;
      this.#through(node, () => this.#mergeOne(map, target));
    } else throw new YamlError('map merge requires map or sequence of maps as the value');
  }
}

function isMerge(key: Node): boolean {
  return key.kind === 'scalar' && key.value === '<<' && (key.implicit || key.tag === mergeTag);
}

const fewNodes = 400_000;
const manyNodes = 4_000_000;

/** The allowed share of nodes from aliases. */
function allowedShare(nodes: number): number {
  if (nodes <= fewNodes) return 0.99;
  if (nodes >= manyNodes) return 0.1;
  return 0.99 - 0.89 * ((nodes - fewNodes) / (manyNodes - fewNodes));
}

/** Doubles are formatted like Go's JSON and then read again: 1e3 becomes an integer. */
function jsonScalar(value: Scalar): unknown {
  if (typeof value === 'bigint') {
    const number = numberOf(String(value));
    return typeof number === 'number' && !Number.isSafeInteger(number) ? new NumberLiteral(String(value)) : number;
  }
  if (typeof value !== 'number') return value;
  return Number.isInteger(value) && Math.abs(value) < 1e21 ? numberOf(String(value)) : value;
}

function keyText(key: Scalar): string {
  switch (typeof key) {
    case 'string':
      return key;
    case 'boolean':
      return String(key);
    case 'number':
      return floatKey(key);
    case 'bigint':
      if (key < 2n ** 63n) return String(key);
      throw new DecodeError(`Unsupported map key of type: uint64, key: ${key}`);
    default:
      throw new DecodeError('Unsupported map key of type: %!s(<nil>), key: <nil>');
  }
}
