/** Parses JSONPath templates like release 1.24 (client-go, util/jsonpath/parser.go). Pure. */
import { PathError, type PathNode } from '#cmd/orchctl/print/jsonpath/nodes.js';

/** The top-level nodes of a template: texts, and a list for each `{…}`. Throws a PathError. */
export function parseTemplate(template: string): PathNode[] {
  const nodes: PathNode[] = [];
  let at = 0;
  while (at < template.length) {
    const open = template.indexOf('{', at);
    const end = open < 0 ? template.length : open;
    if (end > at) nodes.push({ type: 'text', text: template.slice(at, end) });
    if (open < 0) break;
    const action = new ActionParser(template, open + 1);
    nodes.push({ type: 'list', nodes: action.parse() });
    at = action.position;
  }
  return nodes;
}

const terminators = new Set(['', '.', ',', '[', ']', '$', '@', '{', '}', ' ', '\t', '\n', '\r']);
const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\\': '\\', '"': '"', "'": "'" };

class ActionParser {
  readonly #text: string;
  position: number;

  constructor(text: string, position: number) {
    this.#text = text;
    this.position = position;
  }

  parse(): PathNode[] {
    const nodes: PathNode[] = [];
    for (;;) {
      const rest = this.#text.slice(this.position);
      const character = rest.charAt(0);
      if (character === '}') {
        this.position += 1;
        return nodes;
      }
      if (character === '' || character === '\n' || character === '\r') throw new PathError('unclosed action');
      if (character === ' ' || character === '@' || character === '$') this.position += 1;
      else if (rest.startsWith('[?(')) nodes.push(this.#filter());
      else if (rest.startsWith('..')) this.#recursive(nodes);
      else if (character === '[') nodes.push(...this.#brackets());
      else if (character === '"' || character === "'") nodes.push({ type: 'text', text: this.#quoted(character) });
      else if (character === '.') {
        this.position += 1;
        nodes.push(this.#field());
      } else if (/[-+\d]/.test(character)) nodes.push(this.#number());
      else if (/[\p{L}_]/u.test(character)) nodes.push(this.#identifier());
      else throw new PathError(`unrecognized character in action: ${unicodeName(character)}`);
    }
  }

  #recursive(nodes: PathNode[]): void {
    this.position += 2;
    nodes.push({ type: 'recursive' });
    if (/[\p{L}\d_]/u.test(this.#text.charAt(this.position))) nodes.push(this.#field());
  }

  /** Text up to a character that ends names; a backslash takes the next character as it is. */
  #word(): string {
    let word = '';
    for (;;) {
      const character = this.#text.charAt(this.position);
      if (character === '\\' && this.position + 1 < this.#text.length) {
        word += this.#text.charAt(this.position + 1);
        this.position += 2;
      } else if (terminators.has(character)) return word;
      else {
        word += character;
        this.position += 1;
      }
    }
  }

  #field(): PathNode {
    const name = this.#word();
    return name === '*' ? { type: 'wildcard' } : { type: 'field', name };
  }

  #number(): PathNode {
    const word = /^[-+]?[\d.]*/.exec(this.#text.slice(this.position))?.[0] ?? '';
    this.position += word.length;
    if (!/^[-+]?(\d+(\.\d*)?|\.\d+)$/.test(word)) throw new PathError(`cannot parse number ${word}`);
    return { type: 'value', value: Number(word) };
  }

  #identifier(): PathNode {
    const word = this.#word();
    if (word === 'true' || word === 'false') return { type: 'value', value: word === 'true' };
    if (word === 'range' || word === 'end') return { type: word };
    throw new PathError(`unrecognized identifier ${word}`);
  }

  #quoted(quote: string): string {
    let text = '';
    for (this.position += 1; ; this.position += 1) {
      const character = this.#text.charAt(this.position);
      if (character === '' || character === '\n') throw new PathError('unterminated quoted string');
      if (character === quote) {
        this.position += 1;
        return text;
      }
      if (character !== '\\') text += character;
      else {
        this.position += 1;
        const next = this.#text.charAt(this.position);
        text += escapes[next] ?? `\\${next}`;
      }
    }
  }

  /** What is between brackets: an index, a slice, a quoted name, or several of them. */
  #brackets(): PathNode[] {
    const end = this.#text.indexOf(']', this.position);
    const inside = this.#text.slice(this.position + 1, end);
    if (end < 0 || inside.includes('\n')) throw new PathError('unterminated array');
    this.position = end + 1;
    const members = inside.split(',');
    if (members.length > 1) {
      return [
        {
          type: 'union',
          members: members.map((member): PathNode => ({ type: 'list', nodes: selection(member.trim()) })),
        },
      ];
    }
    return selection(inside);
  }

  #filter(): PathNode {
    const start = this.position + 3;
    const end = closing(this.#text, start);
    const text = this.#text.slice(start, end);
    this.position = end + 2;
    const [, left, operator, right] = /^([^!<>=]+)([!<>=]+)(.+?)$/s.exec(text) ?? [];
    const list = (part: string): PathNode => ({ type: 'list', nodes: parseAction(part) });
    if (left === undefined || operator === undefined || right === undefined) {
      return { type: 'filter', left: list(text), operator: 'exists', right: { type: 'list', nodes: [] } };
    }
    return { type: 'filter', left: list(left), operator, right: list(right) };
  }
}

/** Where the `)]` of a filter is that begins at `start`. */
function closing(text: string, start: number): number {
  let quote = '';
  for (let i = start; i < text.length; i += 1) {
    const character = text.charAt(i);
    if (quote !== '') {
      if (character === '\\') i += 1;
      else if (character === quote) quote = '';
    } else if (character === '"' || character === "'") quote = character;
    else if (character === ')' && text.charAt(i + 1) === ']') return i;
  }
  throw new PathError('unterminated filter');
}

function parseAction(text: string): PathNode[] {
  const [first] = parseTemplate(`{${text}}`);
  return first?.type === 'list' ? [...first.nodes] : [];
}

function selection(text: string): PathNode[] {
  const [, name] = /^'([^']*)'$/.exec(text) ?? [];
  if (name !== undefined)
    return [name === '*' ? { type: 'wildcard' } : { type: 'field', name: name.replaceAll('\\.', '.') }];
  const plain = text === '*' ? ':' : text;
  const [matched, from, to, step] = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/.exec(plain) ?? [];
  if (matched === undefined) throw new PathError(`invalid array index ${text}`);
  const number = (part: string | undefined) => {
    const digits = part?.replace(/^:/, '') ?? '';
    return digits === '' ? undefined : Number(digits);
  };
  const single = to === undefined;
  const start = number(from);
  return [{ type: 'slice', from: start, to: single ? (start ?? 0) + 1 : number(to), step: number(step) ?? 1, single }];
}

function unicodeName(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')} '${character}'`;
}
