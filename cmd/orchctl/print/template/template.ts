/** Executes Go templates on objects (text/template), with the functions that kubectl adds. Pure. */
import { goText } from '#apimachinery/errors/go-value.js';
import { functions, isTrue, lengthOf } from '#cmd/orchctl/print/template/functions.js';
import {
  type CommandNode,
  type Pipeline,
  TemplateError,
  type TemplateNode,
  type Term,
} from '#cmd/orchctl/print/template/nodes.js';
import { type ParsedTemplate, parseTemplate } from '#cmd/orchctl/print/template/parse.js';

/** Variables of a block and those around it. */
type Scope = Map<string, { value: unknown }>;

class LoopControl extends Error {
  readonly ends: boolean;
  constructor(ends: boolean) {
    super('loop');
    this.ends = ends;
  }
}

/** Nested calls of templates. */
const maxDepth = 1000;

export class GoTemplate {
  readonly #template: ParsedTemplate;
  readonly #allowMissing: boolean;
  #depth = 0;

  /** Throws a TemplateError. */
  constructor(text: string, { allowMissing }: { readonly allowMissing: boolean }) {
    this.#template = parseTemplate(text);
    this.#allowMissing = allowMissing;
  }

  /** Throws a TemplateError. */
  text(data: unknown): string {
    const out: string[] = [];
    this.#depth = 0;
    this.#run(this.#template.nodes, data, new Map([['$', { value: data }]]), out);
    return out.join('');
  }

  #run(nodes: readonly TemplateNode[], dot: unknown, scope: Scope, out: string[]): void {
    for (const node of nodes) this.#runNode(node, dot, scope, out);
  }

  #runNode(node: TemplateNode, dot: unknown, scope: Scope, out: string[]): void {
    switch (node.type) {
      case 'text':
        out.push(node.text);
        return;
      case 'action': {
        const value = this.#pipeline(node.pipeline, dot, scope);
        if (node.pipeline.variables.length === 0) out.push(printed(value));
        return;
      }
      case 'if':
      case 'with': {
        const inner: Scope = new Map(scope);
        const value = this.#pipeline(node.pipeline, dot, inner);
        if (isTrue(value)) this.#run(node.body, node.type === 'with' ? value : dot, inner, out);
        else this.#run(node.otherwise, dot, inner, out);
        return;
      }
      case 'range':
        this.#range(node, dot, scope, out);
        return;
      case 'template': {
        const body = this.#template.named.get(node.name);
        if (body === undefined) throw new TemplateError(`template ${JSON.stringify(node.name)} not defined`);
        if (++this.#depth > maxDepth) throw new TemplateError('exceeded maximum template depth');
        const value = node.pipeline === undefined ? null : this.#pipeline(node.pipeline, dot, scope);
        this.#run(body, value, new Map([['$', { value }]]), out);
        this.#depth -= 1;
        return;
      }
      case 'break':
      case 'continue':
        throw new LoopControl(node.type === 'break');
      default:
        node satisfies never;
    }
  }

  #range(
    node: Extract<TemplateNode, { type: 'if' | 'with' | 'range' }>,
    dot: unknown,
    scope: Scope,
    out: string[],
  ): void {
    const { variables, assigns } = node.pipeline;
    const value = this.#pipeline({ ...node.pipeline, variables: [] }, dot, scope);
    const entries = entriesOf(value);
    if (entries.length === 0) {
      this.#run(node.otherwise, dot, new Map(scope), out);
      return;
    }
    for (const [key, element] of entries) {
      const inner: Scope = new Map(scope);
      const [first, second] = variables;
      const last = second ?? first;
      if (last !== undefined) bind(inner, last, element, assigns);
      if (first !== undefined && second !== undefined) bind(inner, first, key, assigns);
      try {
        this.#run(node.body, element, inner, out);
      } catch (error) {
        if (!(error instanceof LoopControl)) throw error;
        if (error.ends) return;
      }
    }
  }

  #pipeline(pipeline: Pipeline, dot: unknown, scope: Scope): unknown {
    let value: unknown;
    pipeline.commands.forEach((command, index) => {
      value = this.#command(command, dot, scope, index > 0 ? [value] : []);
    });
    for (const name of pipeline.variables) bind(scope, name, value, pipeline.assigns);
    return value;
  }

  #command([first, ...rest]: CommandNode, dot: unknown, scope: Scope, last: readonly unknown[]): unknown {
    if (first === undefined) return undefined;
    const { operand } = first;
    if (operand.type !== 'function') {
      if (rest.length > 0 || last.length > 0) throw new TemplateError("can't give argument to non-function");
      return this.#term(first, dot, scope);
    }
    const fields = (value: unknown) => this.#fields(value, first.fields);
    if (operand.name === 'and' || operand.name === 'or') {
      return fields(
        this.#lazily(
          operand.name,
          rest.map((term) => () => this.#term(term, dot, scope)),
          last,
        ),
      );
    }
    const args = [...rest.map((term) => this.#term(term, dot, scope)), ...last];
    const run = Object.hasOwn(functions, operand.name) ? functions[operand.name] : undefined;
    if (run === undefined) throw new TemplateError(`function ${JSON.stringify(operand.name)} not defined`);
    return fields(run(...args));
  }

  /** `and` and `or` stop at the argument that decides. */
  #lazily(name: 'and' | 'or', terms: readonly (() => unknown)[], last: readonly unknown[]): unknown {
    let value: unknown;
    for (const term of [...terms, ...last.map((each) => () => each)]) {
      value = term();
      if (isTrue(value) === (name === 'or')) return value;
    }
    return value;
  }

  #term({ operand, fields }: Term, dot: unknown, scope: Scope): unknown {
    switch (operand.type) {
      case 'constant':
        return operand.value;
      case 'dot':
        return this.#fields(dot, fields);
      case 'variable': {
        const variable = scope.get(operand.name);
        if (variable === undefined) throw new TemplateError(`undefined variable ${JSON.stringify(operand.name)}`);
        return this.#fields(variable.value, fields);
      }
      case 'pipeline':
        return this.#fields(this.#pipeline(operand.pipeline, dot, new Map(scope)), fields);
      case 'function':
        return this.#command([{ operand, fields }], dot, scope, []);
      default:
        return operand satisfies never;
    }
  }

  #fields(value: unknown, fields: readonly string[]): unknown {
    let current = value;
    for (const field of fields) {
      if (current === undefined || current === null) {
        if (this.#allowMissing && current === undefined) return undefined;
        throw new TemplateError(`nil data; no entry for key ${JSON.stringify(field)}`);
      }
      if (typeof current !== 'object' || Array.isArray(current)) {
        throw new TemplateError(`can't evaluate field ${field} in type interface {}`);
      }
      const isThere = Object.hasOwn(current, field);
      if (!isThere && !this.#allowMissing) throw new TemplateError(`map has no entry for key ${JSON.stringify(field)}`);
      current = isThere ? (current as Record<string, unknown>)[field] : undefined;
    }
    return current;
  }
}

function bind(scope: Scope, name: string, value: unknown, assigns: boolean): void {
  const present = scope.get(name);
  if (!assigns) scope.set(name, { value });
  else if (present === undefined) throw new TemplateError(`undefined variable ${JSON.stringify(name)}`);
  else present.value = value;
}

function entriesOf(value: unknown): [unknown, unknown][] {
  if (value === undefined || value === null) return [];
  if (Array.isArray(value)) return value.map((element, index) => [index, element]);
  if (typeof value === 'object') return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  throw new TemplateError(`range can't iterate over ${lengthOf(value) ?? String(value)}`);
}

function printed(value: unknown): string {
  if (value === undefined) return '<no value>';
  return value === null ? '<no value>' : goText(value);
}
