/** The names of the edges of field sets: the same ones come again and again. */
import { toJSONText } from '#apimachinery/json-text.js';
import type { Scalar } from '#apimachinery/schema/schema.js';
import type { FieldInfo, TypeInfo } from '#apimachinery/schema/type-info.js';

/** An element is there twice, or says nothing of its keys: 1.24 has no typed form of such an object. */
export class AmbiguousElementError extends Error {}

/** The edge to an element that says nothing of its keys. */
const withoutKeys = 'k:{}';

/** Fewer are compared one by one. */
const fewEdges = 8;

/** Throws an AmbiguousElementError unless all edges are those of different elements. */
export function checkEdges(edges: readonly string[]): void {
  for (const edge of edges) checkEdge(edge);
  const { length } = edges;
  if (length > fewEdges) {
    if (new Set(edges).size < length) throw ambiguous();
    return;
  }
  for (let i = 1; i < length; i++) for (let j = 0; j < i; j++) if (edges[i] === edges[j]) throw ambiguous();
}

/** The same for one of them. */
export function checkEdge(edge: string): void {
  if (edge === withoutKeys) throw ambiguous();
}

function ambiguous(): AmbiguousElementError {
  return new AmbiguousElementError('elements of a list cannot be told apart');
}

/** The edge to a member of a map. */
export function fieldEdge(name: string): string {
  return `f:${name}`;
}

/** The edge to an element of a set. */
export function valueEdge(element: unknown): string {
  return `v:${toJSONText(element)}`;
}

/** One of the keys that tell the elements of a list apart, as their edges write it. */
interface ListKey {
  readonly name: string;
  /** The name as JSON, with the colon. */
  readonly text: string;
  readonly default: unknown;
}

type Element = Readonly<Record<string, unknown>>;

/** What a key is in an element that does not say it; undefined where it has to. */
export function keyDefault(field: FieldInfo | undefined): unknown {
  if (field?.schemaDefault !== undefined) return field.schemaDefault;
  return field === undefined || field.omitempty || field.pointer ? undefined : zeroOf(field.scalar);
}

/** The zero of a scalar that is always there; undefined for others. */
export function zeroOf(scalar: Scalar | undefined): unknown {
  if (scalar === undefined || scalar === 'bytes') return undefined;
  return scalar === 'string' ? '' : scalar === 'bool' ? false : 0;
}

/** Edges to the elements of a list of messages: their keys with their defaults, in the order of their names. */
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
      // Null is a value of a configuration that is applied.
      const value = element[key.name] === undefined ? key.default : element[key.name];
      if (value === undefined) continue;
      const json = typeof value === 'number' ? `${value}` : toJSONText(value);
      text += text === '' ? key.text + json : `,${key.text}${json}`;
    }
    return `k:{${text}}`;
  }

  /** Whether two elements have the same edge; false when keys are no scalars. */
  same(a: Element, b: Element): boolean {
    for (const { name, default: byDefault } of this.#keys) {
      if ((a[name] ?? byDefault) !== (b[name] ?? byDefault)) return false;
    }
    return true;
  }
}
