/** Evaluates JSONPath templates like release 1.24 (client-go, util/jsonpath/jsonpath.go). Pure. */

import { goJSON } from '#cmd/orchctl/print/json/go-json.js';
import { PathError, type PathNode } from '#cmd/orchctl/print/jsonpath/nodes.js';
import { parseTemplate } from '#cmd/orchctl/print/jsonpath/parse.js';

export interface PathOptions {
  /** Missing fields and indexes give no result, instead of an error. */
  readonly allowMissing: boolean;
}

export class JsonPath {
  readonly #nodes: readonly PathNode[];
  readonly #allowMissing: boolean;

  /** Throws a PathError. */
  constructor(template: string, { allowMissing }: PathOptions) {
    this.#nodes = parseTemplate(template);
    this.#allowMissing = allowMissing;
  }

  /** The results of each node, in order. Throws a PathError. */
  results(data: unknown): unknown[][] {
    return this.#run(data, 0).results;
  }

  /** The text that the template makes of the data. Throws a PathError. */
  text(data: unknown): string {
    return this.results(data)
      .map((values) => values.map(valueText).join(' '))
      .join('');
  }

  /** Runs the nodes from `start` to the end of the template or of the range. */
  #run(data: unknown, start: number): { results: unknown[][]; end: number } {
    const results: unknown[][] = [];
    for (let i = start; i < this.#nodes.length; i += 1) {
      const node = this.#nodes[i] as PathNode;
      const [first, ...rest] = node.type === 'list' ? node.nodes : [];
      if (first?.type === 'end') {
        if (start === 0) throw new PathError('not in range, nothing to end');
        return { results, end: i };
      }
      if (first?.type === 'range') {
        const values = this.#walk([data], { type: 'list', nodes: rest });
        let end = this.#endOf(i + 1);
        for (const value of values) {
          const inner = this.#run(value, i + 1);
          results.push(...inner.results);
          end = inner.end;
        }
        i = end;
      } else results.push(this.#walk([data], node));
    }
    return { results, end: this.#nodes.length };
  }

  /** Where the range ends whose nodes begin there. */
  #endOf(start: number): number {
    let depth = 0;
    for (let i = start; i < this.#nodes.length; i += 1) {
      const node = this.#nodes[i];
      const first = node?.type === 'list' ? node.nodes[0]?.type : undefined;
      if (first === 'range') depth += 1;
      else if (first === 'end' && depth-- === 0) return i;
    }
    return this.#nodes.length;
  }

  #walk(values: readonly unknown[], node: PathNode): unknown[] {
    switch (node.type) {
      case 'list': {
        let current: readonly unknown[] = values;
        for (const each of node.nodes) current = this.#walk(current, each);
        return [...current];
      }
      case 'text':
        return [node.text];
      case 'value':
        return [node.value];
      case 'field':
        return values.flatMap((value) => this.#field(value, node.name));
      case 'wildcard':
        return values.flatMap(members);
      case 'recursive':
        return values.flatMap(descendants);
      case 'slice':
        return values.flatMap((value) => this.#slice(value, node));
      case 'union':
        return node.members.flatMap((member) => this.#walk(values, member));
      case 'filter':
        return values.flatMap((value) => this.#filter(value, node));
      case 'range':
      case 'end':
        throw new PathError(`${node.type} must be the first word of an action`);
      default:
        return node satisfies never;
    }
  }

  #field(value: unknown, name: string): unknown[] {
    if (name === '') return [value];
    if (isMap(value) && Object.hasOwn(value, name)) return [value[name]];
    if (this.#allowMissing) return [];
    throw new PathError(`${name} is not found`);
  }

  #slice(value: unknown, { from, to, step, single }: Extract<PathNode, { type: 'slice' }>): unknown[] {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw new PathError(`${goType(value)} is not array or slice`);
    const { length } = value;
    const start = from === undefined ? 0 : from < 0 ? from + length : from;
    const rawEnd = to ?? length;
    const end = rawEnd < 0 || (rawEnd === 0 && single) ? rawEnd + length : rawEnd;
    if (end !== start) {
      for (const [index, bound] of [
        [start, start >= length || start < 0],
        [end - 1, end > length || end < 0],
      ] as const) {
        if (!bound) continue;
        if (this.#allowMissing && single) return [];
        throw new PathError(`array index out of bounds: index ${index}, length ${length}`);
      }
    }
    if (step <= 0) throw new PathError(step === 0 ? 'step must be > 0' : `step must be > 0`);
    const result: unknown[] = [];
    for (let i = start; i < end; i += step) result.push(value[i]);
    return result;
  }

  #filter(value: unknown, { left, operator, right }: Extract<PathNode, { type: 'filter' }>): unknown[] {
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw new PathError(`${goType(value)} is not array or slice and cannot be filtered`);
    return value.filter((item) => {
      const lefts = this.#walkLeniently(item, left);
      if (operator === 'exists') return lefts.length > 0;
      if (lefts.length === 0) return false;
      const rights = this.#walk([item], right);
      if (lefts.length > 1 || rights.length > 1) throw new PathError('can only compare one element at a time');
      return rights.length === 1 && compares(lefts[0], operator, rights[0]);
    });
  }

  /** In filters a missing field is no error. */
  #walkLeniently(item: unknown, node: PathNode): unknown[] {
    try {
      return this.#walk([item], node);
    } catch (error) {
      if (error instanceof PathError) return [];
      throw error;
    }
  }
}

function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function members(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  return isMap(value) ? Object.values(value) : [];
}

/** The value and everything in it. */
function descendants(value: unknown): unknown[] {
  const isCollection = typeof value === 'object' && value !== null;
  return isCollection ? [value, ...members(value).flatMap(descendants)] : [];
}

function compares(left: unknown, operator: string, right: unknown): boolean {
  const [a, b] = [left, right] as [never, never];
  switch (operator) {
    case '==':
    case '=':
      return same(left, right);
    case '!=':
      return !same(left, right);
    case '<':
      return a < b;
    case '<=':
      return a <= b;
    case '>':
      return a > b;
    case '>=':
      return a >= b;
    default:
      throw new PathError(`unrecognized filter operator ${operator}`);
  }
}

function same(left: unknown, right: unknown): boolean {
  if (typeof left !== typeof right && !(isNumber(left) && isNumber(right))) {
    throw new PathError('incompatible types for comparison');
  }
  return isNumber(left) && isNumber(right) ? Number(left) === Number(right) : left === right;
}

function isNumber(value: unknown): value is number | bigint {
  return typeof value === 'number' || typeof value === 'bigint';
}

function goType(value: unknown): string {
  if (isMap(value)) return 'map[string]interface {}';
  if (typeof value === 'boolean') return 'bool';
  return isNumber(value) ? 'int64' : typeof value;
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  return typeof value === 'object' ? goJSON(value) : String(value);
}

/** `x.y`, `.x.y` and `{.x.y}` all become `{.x.y}`. Throws a PathError. */
export function relaxedPath(text: string): string {
  if (text === '') return text;
  const [, inside] = /^\{\.?([^{}]+)\}$|^\.?([^{}]+)$/.exec(text)?.filter((part) => part !== undefined) ?? [];
  if (inside === undefined) {
    throw new PathError(
      `unexpected path string, expected a 'name1.name2' or '.name1.name2' or '{name1.name2}' or '{.name1.name2}'`,
    );
  }
  return `{.${inside}}`;
}
