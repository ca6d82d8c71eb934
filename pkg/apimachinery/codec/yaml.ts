/** YAML as clients write it: the types of YAML 1.1 that JSON has too, aliases only in moderation. */
import {
  Composer,
  type CreateNodeOptions,
  type CST,
  type DocumentOptions,
  Lexer,
  type ParseOptions,
  Parser,
  type ScalarTag,
  type SchemaOptions,
  stringify,
  type Tags,
  type ToJSOptions,
} from 'yaml';
import { DecodeError } from '#apimachinery/codec/decode-error.js';

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
  uniqueKeys: true,
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
function* tokens(text: string): Generator<CST.Token> {
  const parser = new Parser();
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

function place(text: string, offset: number): string {
  const before = text.slice(0, offset).split('\n');
  return ` at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

/** The JSON value of a document. Throws a DecodeError, which names the place. */
export function parseYAML(text: string): unknown {
  try {
    const [document, ...more] = new Composer(options).compose(tokens(text), true);
    const problem = document?.errors[0];
    if (problem !== undefined) throw new DecodeError(`yaml: ${problem.message}${place(text, problem.pos[0])}`);
    if (more.length > 0) throw new DecodeError('yaml: more than one document');
    return plain(document?.toJS(options), { depth: 0, left: 16 * text.length + 4096 });
  } catch (error) {
    if (error instanceof DecodeError) throw error;
    const message = error instanceof Error ? error.message : String(error);
    throw new DecodeError(`yaml: ${message}`, { cause: error });
  }
}

export function encodeYAML(object: unknown): Buffer {
  return Buffer.from(stringify(object, { version: '1.1', aliasDuplicateObjects: false, lineWidth: 0 }));
}
