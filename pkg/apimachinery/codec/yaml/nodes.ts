/** Parses tokens into the nodes of a YAML document like the library of release 1.24. */

import { Scanner } from '#apimachinery/codec/yaml/scanner.js';
import type { Mark, Token } from '#apimachinery/codec/yaml/tokens.js';
import { parseError, YamlError } from '#apimachinery/codec/yaml/yaml-error.js';

interface NodeOf<K extends string> {
  readonly kind: K;
  /** Counts from zero. */
  readonly line: number;
}

export interface ScalarNode extends NodeOf<'scalar'> {
  readonly value: string;
  /** Empty if there is none. */
  readonly tag: string;
  /** Its text determines its type: it has neither quotes nor a tag. */
  readonly implicit: boolean;
}

export interface AliasNode extends NodeOf<'alias'> {
  readonly name: string;
  readonly target: Node;
}

export interface SequenceNode extends NodeOf<'sequence'> {
  readonly children: Node[];
}

/** Keys and values alternate. */
export interface MappingNode extends NodeOf<'mapping'> {
  readonly children: Node[];
}

export type Node = ScalarNode | AliasNode | SequenceNode | MappingNode;

/** Maximum nesting of nodes. */
export const maxYamlDepth = 500;

const ofDirectives = new Set<Token['kind']>(['version', 'tagPrefix']);
const endsDocument = new Set<Token['kind']>(['version', 'tagPrefix', 'documentStart', 'documentEnd', 'streamEnd']);
const defaultPrefixes: readonly (readonly [string, string])[] = [
  ['!', '!'],
  ['!!', 'tag:yaml.org,2002:'],
];

/** The first document of a text; ignores the rest. Undefined if there is none. Throws a YamlError. */
export function parseDocument(text: string): Node | undefined {
  return new Parser(text).document();
}

interface Context {
  /** Block collections are allowed here. */
  readonly block: boolean;
  /** Also allows a list with the indentation of its key. */
  readonly indentless: boolean;
}

const inBlock: Context = { block: true, indentless: false };
const ofMapping: Context = { block: true, indentless: true };
const inFlow: Context = { block: false, indentless: false };

class Parser {
  readonly #scanner: Scanner;
  readonly #prefixes = new Map<string, string>();
  readonly #anchors = new Map<string, Node>();
  #depth = 0;

  constructor(text: string) {
    this.#scanner = new Scanner(text, maxYamlDepth);
  }

  document(): Node | undefined {
    const scanner = this.#scanner;
    const first = scanner.peek();
    if (first.kind === 'streamEnd') return undefined;
    let node: Node;
    if (ofDirectives.has(first.kind) || first.kind === 'documentStart') {
      this.#directives();
      const token = scanner.peek();
      if (token.kind !== 'documentStart') throw parseError('did not find expected <document start>', token.start);
      scanner.next();
      const content = scanner.peek();
      node = endsDocument.has(content.kind) ? emptyScalar(content.start) : this.#node(inBlock);
    } else {
      this.#directives();
      node = this.#node(inBlock);
    }
    // Reports an invalid token after the document.
    scanner.peek();
    return node;
  }

  #directives(): void {
    const scanner = this.#scanner;
    let hasVersion = false;
    for (let token = scanner.peek(); ofDirectives.has(token.kind); token = scanner.peek()) {
      if (token.kind === 'version') {
        if (hasVersion) throw parseError('found duplicate %YAML directive', token.start);
        if (token.major !== 1 || token.minor !== 1) throw parseError('found incompatible YAML document', token.start);
        hasVersion = true;
      } else if (token.kind === 'tagPrefix') {
        if (this.#prefixes.has(token.handle)) throw parseError('found duplicate %TAG directive', token.start);
        this.#prefixes.set(token.handle, token.prefix);
      }
      scanner.next();
    }
    for (const [handle, prefix] of defaultPrefixes) {
      if (!this.#prefixes.has(handle)) this.#prefixes.set(handle, prefix);
    }
  }

  #node(context: Context): Node {
    if (++this.#depth > maxYamlDepth) throw new YamlError('exceeded max depth');
    const node = this.#nodeHere(context);
    this.#depth--;
    return node;
  }

  #nodeHere({ block, indentless }: Context): Node {
    const scanner = this.#scanner;
    const first = scanner.peek();
    const { start } = first;
    if (first.kind === 'alias') {
      scanner.next();
      const target = this.#anchors.get(first.name);
      if (target === undefined) throw new YamlError(`unknown anchor '${first.name}' referenced`);
      return { kind: 'alias', line: start.line, name: first.name, target };
    }
    const { anchor, tag } = this.#properties();
    const token = scanner.peek();
    if (indentless && token.kind === 'blockEntry')
      return this.#sequence(start, anchor, (into) => this.#indentless(into));
    switch (token.kind) {
      case 'scalar': {
        scanner.next();
        const implicit = (tag === '' && token.plain) || tag === '!';
        return this.#anchored(anchor, { kind: 'scalar', line: start.line, value: token.value, tag, implicit });
      }
      case 'flowSequenceStart':
        return this.#sequence(start, anchor, (into) => this.#flowSequence(into));
      case 'flowMappingStart':
        return this.#mapping(start, anchor, (into) => this.#flowMapping(into));
      case 'blockSequenceStart':
        if (block) return this.#sequence(start, anchor, (into) => this.#blockSequence(into));
        break;
      case 'blockMappingStart':
        if (block) return this.#mapping(start, anchor, (into) => this.#blockMapping(into));
        break;
    }
    if (anchor === undefined && tag === '') throw parseError('did not find expected node content', token.start, start);
    return this.#anchored(anchor, { kind: 'scalar', line: start.line, value: '', tag, implicit: tag === '' });
  }

  /** An anchor and a tag in any order. */
  #properties(): { readonly anchor: string | undefined; readonly tag: string } {
    const scanner = this.#scanner;
    const { start } = scanner.peek();
    let anchor: string | undefined;
    let tag: Token | undefined;
    for (;;) {
      const token = scanner.peek();
      if (token.kind === 'anchor' && anchor === undefined) anchor = token.name;
      else if (token.kind === 'tag' && tag === undefined) tag = token;
      else return { anchor, tag: this.#fullTag(tag, start) };
      scanner.next();
    }
  }

  #fullTag(token: Token | undefined, start: Mark): string {
    if (token?.kind !== 'tag') return '';
    const { handle, suffix } = token;
    if (handle === '') return suffix;
    const prefix = this.#prefixes.get(handle);
    if (prefix === undefined) throw parseError('found undefined tag handle', token.start, start);
    return prefix + suffix;
  }

  #anchored<N extends Node>(anchor: string | undefined, node: N): N {
    if (anchor !== undefined) this.#anchors.set(anchor, node);
    return node;
  }

  #sequence(start: Mark, anchor: string | undefined, read: (into: Node[]) => void): Node {
    const node: SequenceNode = this.#anchored(anchor, { kind: 'sequence', line: start.line, children: [] });
    read(node.children);
    return node;
  }

  #mapping(start: Mark, anchor: string | undefined, read: (into: Node[]) => void): Node {
    const node: MappingNode = this.#anchored(anchor, { kind: 'mapping', line: start.line, children: [] });
    read(node.children);
    return node;
  }

  /** A node, or an empty one before any of these tokens. */
  #nodeUnless(kinds: readonly Token['kind'][], context: Context, mark: Mark): Node {
    return kinds.includes(this.#scanner.peek().kind) ? emptyScalar(mark) : this.#node(context);
  }

  #blockSequence(into: Node[]): void {
    const scanner = this.#scanner;
    const { start } = scanner.peek();
    scanner.next();
    for (let token = scanner.peek(); token.kind === 'blockEntry'; token = scanner.peek()) {
      scanner.next();
      into.push(this.#nodeUnless(['blockEntry', 'blockEnd'], inBlock, token.start));
    }
    const token = scanner.peek();
    if (token.kind !== 'blockEnd') throw parseError("did not find expected '-' indicator", token.start, start);
    scanner.next();
  }

  #indentless(into: Node[]): void {
    const scanner = this.#scanner;
    for (let token = scanner.peek(); token.kind === 'blockEntry'; token = scanner.peek()) {
      scanner.next();
      into.push(this.#nodeUnless(['blockEntry', 'key', 'value', 'blockEnd'], inBlock, token.start));
    }
  }

  #blockMapping(into: Node[]): void {
    const scanner = this.#scanner;
    const { start } = scanner.peek();
    const none = ['key', 'value', 'blockEnd'] as const;
    scanner.next();
    for (let token = scanner.peek(); token.kind === 'key'; token = scanner.peek()) {
      scanner.next();
      into.push(this.#nodeUnless(none, ofMapping, token.start));
      const value = scanner.peek();
      if (value.kind === 'value') {
        scanner.next();
        into.push(this.#nodeUnless(none, ofMapping, value.start));
      } else into.push(emptyScalar(value.start));
    }
    const token = scanner.peek();
    if (token.kind !== 'blockEnd') throw parseError('did not find expected key', token.start, start);
    scanner.next();
  }

  #flowSequence(into: Node[]): void {
    const scanner = this.#scanner;
    const none = ['flowEntry', 'flowSequenceEnd'] as const;
    this.#flow('flowSequenceEnd', "did not find expected ',' or ']'", (token) => {
      if (token.kind !== 'key') {
        into.push(this.#node(inFlow));
        return;
      }
      // A pair among list elements is a map of its own.
      scanner.next();
      const children: Node[] = [];
      into.push({ kind: 'mapping', line: token.start.line, children });
      const key = scanner.peek();
      if (key.kind === 'value' || key.kind === 'flowEntry' || key.kind === 'flowSequenceEnd') {
        // 1.24 ignores the token of an empty key.
        scanner.next();
        children.push(emptyScalar(key.start));
      } else children.push(this.#node(inFlow));
      children.push(this.#flowValue(none));
    });
  }

  #flowMapping(into: Node[]): void {
    const scanner = this.#scanner;
    const none = ['flowEntry', 'flowMappingEnd'] as const;
    this.#flow('flowMappingEnd', "did not find expected ',' or '}'", (token) => {
      if (token.kind !== 'key') {
        into.push(this.#node(inFlow), emptyScalar(scanner.peek().start));
        return;
      }
      scanner.next();
      into.push(this.#nodeUnless(['value', ...none], inFlow, token.start), this.#flowValue(none));
    });
  }

  #flowValue(none: readonly Token['kind'][]): Node {
    const token = this.#scanner.peek();
    if (token.kind !== 'value') return emptyScalar(token.start);
    this.#scanner.next();
    // An empty node has the position of the next token.
    return this.#nodeUnless(none, inFlow, this.#scanner.peek().start);
  }

  /** Entries between brackets, separated by commas. */
  #flow(closing: Token['kind'], problem: string, entry: (token: Token) => void): void {
    const scanner = this.#scanner;
    const { start } = scanner.peek();
    scanner.next();
    for (let isFirst = true; ; isFirst = false) {
      let token = scanner.peek();
      if (token.kind === closing) break;
      if (!isFirst) {
        if (token.kind !== 'flowEntry') throw parseError(problem, token.start, start);
        scanner.next();
        token = scanner.peek();
        if (token.kind === closing) break;
      }
      entry(token);
    }
    scanner.next();
  }
}

function emptyScalar({ line }: Mark): ScalarNode {
  return { kind: 'scalar', line, value: '', tag: '', implicit: true };
}
