/** Path elements of field sets (`f:name`, `k:{…}`, `v:…`), called edges where a set is a tree. */
import { toJSONText } from '#apimachinery/json-text.js';
import type { Scalar } from '#apimachinery/schema/schema.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** A list has equal elements, or an element without its keys: 1.24 has no typed form of such an object. */
export class AmbiguousElementError extends Error {}

/** The edge to an element without any key. */
const withoutKeys = 'k:{}';

/** Shorter lists are compared pairwise. */
const fewEdges = 8;

/** Throws an AmbiguousElementError unless all edges differ and have keys. */
export function checkEdges(edges: readonly string[]): void {
  for (const edge of edges) checkEdge(edge);
  const { length } = edges;
  if (length > fewEdges) {
    if (new Set(edges).size < length) throw ambiguous();
    return;
  }
  for (let i = 1; i < length; i++) for (let j = 0; j < i; j++) if (edges[i] === edges[j]) throw ambiguous();
}

/** Like `checkEdges`, for a single edge. */
export function checkEdge(edge: string): void {
  if (edge === withoutKeys) throw ambiguous();
}

function ambiguous(): AmbiguousElementError {
  return new AmbiguousElementError('elements of a list cannot be told apart');
}

/** The edge to a field or a map entry. */
export function fieldEdge(name: string): string {
  return `f:${name}`;
}

/** The edge to an element of a set. */
export function valueEdge(element: unknown): string {
  return `v:${toJSONText(element)}`;
}

/** A key of a list's elements, as an edge writes it. */
interface ListKey {
  readonly name: string;
  /** The name as JSON, with the colon. */
  readonly text: string;
  readonly default: unknown;
}

type Element = Readonly<Record<string, unknown>>;

/** The value of a key in an element that omits it; undefined if the key is required. */
export function keyDefault(field: FieldInfo | undefined): unknown {
  if (field?.schemaDefault !== undefined) return field.schemaDefault;
  return field === undefined || field.omitempty || field.pointer ? undefined : zeroOf(field.scalar);
}

/** The zero value of a scalar that is always serialized; undefined for bytes and other types. */
export function zeroOf(scalar: Scalar | undefined): unknown {
  if (scalar === undefined || scalar === 'bytes') return undefined;
  return scalar === 'string' ? '' : scalar === 'bool' ? false : 0;
}

/** Edges to the elements of a list of messages: their keys with defaults, sorted by name. */
export class ElementEdges {
  readonly #keys: readonly ListKey[];

  constructor(type: TypeInfo, names: readonly string[]) {
    this.#keys = [...names]
      .sort()
      .map((name) => ({ name, text: `${JSON.stringify(name)}:`, default: keyDefault(type.byName.get(name)) }));
  }

  edge(element: Element): string {
    let text = '';
    for (const key of this.#keys) {
      // An applied configuration may contain null as a value.
      const value = element[key.name] === undefined ? key.default : element[key.name];
      if (value === undefined) continue;
      const json = typeof value === 'number' ? `${value}` : toJSONText(value);
      text += text === '' ? key.text + json : `,${key.text}${json}`;
    }
    return `k:{${text}}`;
  }

  /** Whether two elements have the same edge; false if keys are not scalars. */
  same(a: Element, b: Element): boolean {
    for (const { name, default: byDefault } of this.#keys) {
      if ((a[name] ?? byDefault) !== (b[name] ?? byDefault)) return false;
    }
    return true;
  }
}
