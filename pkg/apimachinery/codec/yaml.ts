/**
 * YAML as release 1.24 reads it, wherever there is any: bodies, manifests, configuration files. The acceptance of texts and the
 * JSON that they become are those of sigs.k8s.io/yaml 1.2 on go-yaml 2.4; within bounds that hostile texts meet.
 *
 * Why not the npm package `yaml` for reading: it has the rules of the language's specification, which go-yaml has not.
 */
import { Document, visit } from 'yaml';
import { allSteps, type Steps } from '#apimachinery/async/steps.js';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { duplicateKeys, repeatedKey, repeatedKeysError } from '#apimachinery/codec/json/duplicates.js';
import { parseJSONSteps } from '#apimachinery/codec/json/text.js';
import { checkDepth } from '#apimachinery/codec/json/walk.js';
import { jsonValue } from '#apimachinery/codec/yaml/json-value.js';
import { maxYamlDepth, parseDocument } from '#apimachinery/codec/yaml/nodes.js';
import { isPlainText } from '#apimachinery/codec/yaml/resolve.js';
import { toJSONText } from '#apimachinery/json-text.js';

/**
 * JSON that YAML reads otherwise, or not at all: escapes and characters that it does not have, line breaks of its own, colons
 * that do not follow their key at once, tabs that indent, and keys that are too long to be found.
 */
const otherInYAML =
  /\\[^"\\nrtbf]|[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|"\s+:|^[ \n\r]*\t|"[^"]{900}[^"]*":/;

function isAlsoYAML(text: string): boolean {
  return !otherInYAML.test(text) && !text.includes('\t', text.lastIndexOf('}'));
}

/**
 * The value of a document that is JSON, as programs write it, which is read a hundred times as fast; undefined for what is
 * none, and for what takes a closer look.
 */
function* valueOfJSON(text: string): Steps<unknown> {
  if (!/^\s*\{/.test(text) || !isAlsoYAML(text)) return undefined;
  const json = Buffer.from(text);
  let value: unknown;
  try {
    value = yield* parseJSONSteps(json);
    yield;
    checkDepth(value, maxYamlDepth);
  } catch {
    return undefined;
  }
  yield;
  return (yield* duplicateKeys(json, 1)).length === 0 ? value : undefined;
}

/** Whether a document is JSON and thus read as fast as that. */
export function readsFast(text: string): boolean {
  return allSteps(valueOfJSON(text)) !== undefined;
}

export interface ReadYAML {
  readonly value: unknown;
  /** Keys that a map has twice, of which the last counts: see `repeatedKey`. */
  readonly repeated: readonly string[];
}

/** As many repeated keys are told at most. */
const maxRepeated = 100;

/**
 * The JSON value of a text's first document as clients send it; null for one without any. An integer of more than 64 bits is a
 * NumberLiteral. Throws a DecodeError, which names the place.
 */
export function readYAML(text: string): ReadYAML {
  return allSteps(readYAMLSteps(text));
}

/** The same in steps, as far as the document is JSON. */
export function* readYAMLSteps(text: string): Steps<ReadYAML> {
  const value = yield* valueOfJSON(text);
  return value === undefined ? readDocument(text) : { value, repeated: [] };
}

function readDocument(text: string): ReadYAML {
  const repeated: string[] = [];
  const node = parseDocument(text);
  if (node === undefined) return { value: null, repeated };
  const value = jsonValue(node, text.length, (key, line) => {
    if (repeated.length < maxRepeated) repeated.push(repeatedKey(key, line));
  });
  return { value, repeated };
}

/** The JSON value of a text's first document, in which no key comes twice. Throws a DecodeError, which names the place. */
export function parseYAML(text: string): unknown {
  const { value, repeated } = readYAML(text);
  if (repeated.length > 0) throw new DecodeError(repeatedKeysError(repeated));
  return value;
}

const separator = '---';

/**
 * The values of all documents, as of a file of manifests; null for one without any. They are told apart by lines that begin with
 * `---`, behind which only comments may stand. Throws a DecodeError.
 */
export function parseYAMLDocuments(text: string): unknown[] {
  const values: unknown[] = [];
  let lines: string[] = [];
  let linesBefore = 0;
  const end = (): void => {
    if (lines.length > 0) values.push(parseBehind(lines.join('\n'), linesBefore));
    linesBefore += lines.length;
    lines = [];
  };
  for (const line of text.split('\n')) {
    if (line.startsWith(separator)) {
      const rest = line.slice(separator.length).trim();
      if (rest !== '' && !rest.startsWith('#')) throw new DecodeError(`invalid Yaml document separator: ${rest}`);
      end();
    }
    lines.push(line);
  }
  end();
  return values;
}

/** Lines in messages are those of the whole text. */
function parseBehind(text: string, linesBefore: number): unknown {
  try {
    return parseYAML(text);
  } catch (error) {
    if (!(error instanceof DecodeError) || linesBefore === 0) throw error;
    const message = error.message.replace(
      /\bline ([0-9]+):/g,
      (_, line: string) => `line ${Number(line) + linesBefore}:`,
    );
    throw new DecodeError(message, { cause: error });
  }
}

/** Characters of JSON that take the library less than some twenty milliseconds to write. */
const maxWritten = 64 * 1024;

/**
 * As `encodeYAML`, but that large objects are written as JSON, which is YAML, too: servers must not be held up by what
 * nobody reads with their own eyes.
 */
export function encodeYAMLFast(object: unknown): Buffer {
  const json = toJSONText(object);
  return json.length > maxWritten ? Buffer.from(`${json}\n`) : encodeYAML(object);
}

const mergeTag = 'tag:yaml.org,2002:merge';

/** Each text is written so that it is read as a text: the library knows other words and numbers than `parseYAML` does. */
export function encodeYAML(object: unknown): Buffer {
  const document = new Document(object, {
    version: '1.1',
    aliasDuplicateObjects: false,
    // A key that is `<<` is a text.
    customTags: (tags) => tags.filter((tag) => typeof tag === 'string' || tag.tag !== mergeTag),
  });
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value !== 'string') return;
      const isOdd = oddInYAML.test(node.value) || beginsWithTab.test(node.value);
      if (isOdd || !isPlainText(node.value)) node.type = 'QUOTE_DOUBLE';
    },
  });
  // What is odd is between quotes now.
  return Buffer.from(document.toString({ lineWidth: 0 }).replaceAll(allOddInYAML, escaped));
}

/** Line breaks that the library takes for characters, and what YAML does not have. */
const oddInYAML = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/;
/** Which would stand where a block is indented. */
const beginsWithTab = /^[ \n]*\t/;
const allOddInYAML = new RegExp(oddInYAML, 'g');

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
