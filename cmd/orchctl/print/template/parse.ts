/** Parses Go templates (text/template/parse). Pure. */
import { type Token, tokensOf } from '#cmd/orchctl/print/template/lex.js';
import {
  type Operand,
  type Pipeline,
  TemplateError,
  type TemplateNode,
  type Term,
} from '#cmd/orchctl/print/template/nodes.js';

export interface ParsedTemplate {
  readonly nodes: readonly TemplateNode[];
  /** Templates that the text defines. */
  readonly named: ReadonlyMap<string, readonly TemplateNode[]>;
}

/** Throws a TemplateError. */
export function parseTemplate(template: string): ParsedTemplate {
  return new Parser(tokensOf(template)).parse();
}

/** How a block ended. */
type End = 'end' | 'else' | 'file';

class Parser {
  readonly #tokens: readonly Token[];
  readonly #named = new Map<string, readonly TemplateNode[]>();
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): ParsedTemplate {
    const { nodes, end } = this.#block();
    if (end !== 'file') throw new TemplateError(`unexpected {{${end}}}`);
    return { nodes, named: this.#named };
  }

  #block(): { nodes: TemplateNode[]; end: End } {
    const nodes: TemplateNode[] = [];
    for (let token = this.#tokens[this.#at]; token !== undefined; token = this.#tokens[this.#at]) {
      this.#at += 1;
      if (token.type === 'text') {
        nodes.push(token);
        continue;
      }
      this.#skipSpace();
      const word = this.#keyword();
      if (word === 'end') {
        this.#close();
        return { nodes, end: 'end' };
      }
      if (word === 'else') return { nodes, end: 'else' };
      const node = this.#action(word);
      if (node !== undefined) nodes.push(node);
    }
    return { nodes, end: 'file' };
  }

  #keyword(): string {
    const token = this.#tokens[this.#at];
    const keywords = ['end', 'else', 'if', 'with', 'range', 'define', 'block', 'template', 'break', 'continue'];
    if (token?.type !== 'word' || !keywords.includes(token.text)) return '';
    this.#at += 1;
    return token.text;
  }

  #action(word: string): TemplateNode | undefined {
    switch (word) {
      case 'if':
      case 'with':
      case 'range':
        return this.#control(word);
      case 'break':
      case 'continue':
        this.#close();
        return { type: word };
      case 'define':
        this.#define();
        return undefined;
      case 'block':
      case 'template': {
        const name = this.#name();
        const pipeline = this.#isClosed() ? undefined : this.#pipeline();
        this.#close();
        if (word === 'block') this.#body(name);
        return { type: 'template', name, pipeline };
      }
      default: {
        const pipeline = this.#pipeline();
        this.#close();
        return { type: 'action', pipeline };
      }
    }
  }

  #control(type: 'if' | 'with' | 'range'): TemplateNode {
    const pipeline = this.#pipeline();
    this.#close();
    const { nodes: body, end } = this.#block();
    if (end === 'file') throw new TemplateError('unexpected EOF');
    if (end === 'end') return { type, pipeline, body, otherwise: [] };
    this.#skipSpace();
    const next = this.#keyword();
    if (next === 'if' || next === 'with') return { type, pipeline, body, otherwise: [this.#control(next)] };
    this.#close();
    const rest = this.#block();
    if (rest.end !== 'end') throw new TemplateError('unexpected EOF');
    return { type, pipeline, body, otherwise: rest.nodes };
  }

  #define(): void {
    const name = this.#name();
    this.#close();
    this.#body(name);
  }

  #body(name: string): void {
    const { nodes, end } = this.#block();
    if (end !== 'end') throw new TemplateError('unexpected EOF');
    this.#named.set(name, nodes);
  }

  #name(): string {
    this.#skipSpace();
    const token = this.#tokens[this.#at];
    if (token?.type !== 'constant' || typeof token.value !== 'string')
      throw new TemplateError('expected a template name');
    this.#at += 1;
    this.#skipSpace();
    return token.value;
  }

  #pipeline(): Pipeline {
    this.#skipSpace();
    const { variables, assigns } = this.#variables();
    const commands: Term[][] = [];
    for (;;) {
      commands.push(this.#command());
      this.#skipSpace();
      if (!this.#takes('|')) break;
    }
    if (commands.some((command) => command.length === 0)) throw new TemplateError('missing value for command');
    return { variables, assigns, commands };
  }

  /** `$x :=`, `$i, $x :=` or `$x =`. */
  #variables(): { variables: string[]; assigns: boolean } {
    const start = this.#at;
    const variables: string[] = [];
    for (;;) {
      this.#skipSpace();
      const token = this.#tokens[this.#at];
      if (token?.type !== 'variable') break;
      variables.push(token.text);
      this.#at += 1;
      this.#skipSpace();
      if (this.#takes(',')) continue;
      if (this.#takes(':=')) return { variables, assigns: false };
      if (this.#takes('=')) return { variables, assigns: true };
      break;
    }
    this.#at = start;
    return { variables: [], assigns: false };
  }

  #command(): Term[] {
    const terms: Term[] = [];
    for (;;) {
      this.#skipSpace();
      const operand = this.#operand();
      if (operand === undefined) return terms;
      terms.push(operand);
    }
  }

  #operand(): Term | undefined {
    const token = this.#tokens[this.#at];
    if (token === undefined || token.type === 'close' || token.type === 'text' || token.type === 'open')
      return undefined;
    if (token.type === 'field') return { operand: { type: 'dot' }, fields: this.#fields() };
    const operand = this.#plainOperand(token);
    return operand === undefined ? undefined : { operand, fields: this.#fields() };
  }

  #plainOperand(token: Token): Operand | undefined {
    if (token.type === 'symbol' && token.text === '(') {
      this.#at += 1;
      const pipeline = this.#pipeline();
      if (!this.#takes(')')) throw new TemplateError('unclosed left paren');
      return { type: 'pipeline', pipeline };
    }
    if (token.type === 'symbol' && token.text !== '.') return undefined;
    this.#at += 1;
    if (token.type === 'symbol') return { type: 'dot' };
    if (token.type === 'constant') return token;
    if (token.type === 'variable') return { type: 'variable', name: token.text };
    if (token.type !== 'word') return undefined;
    if (token.text === 'true' || token.text === 'false') return { type: 'constant', value: token.text === 'true' };
    return token.text === 'nil' ? { type: 'constant', value: null } : { type: 'function', name: token.text };
  }

  #fields(): string[] {
    const fields: string[] = [];
    for (;;) {
      const token = this.#tokens[this.#at];
      if (token?.type !== 'field') return fields;
      fields.push(token.text);
      this.#at += 1;
    }
  }

  #takes(symbol: string): boolean {
    const token = this.#tokens[this.#at];
    if (token?.type !== 'symbol' || token.text !== symbol) return false;
    this.#at += 1;
    return true;
  }

  #skipSpace(): void {
    while (this.#tokens[this.#at]?.type === 'space') this.#at += 1;
  }

  #isClosed(): boolean {
    this.#skipSpace();
    return this.#tokens[this.#at]?.type === 'close';
  }

  #close(): void {
    if (!this.#isClosed()) throw new TemplateError('unexpected words at the end of an action');
    this.#at += 1;
  }
}
