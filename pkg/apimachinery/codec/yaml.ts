/**
 * Reads YAML like release 1.24, in bodies, manifests and configuration files: accepts the same texts as
 * sigs.k8s.io/yaml 1.2 on go-yaml 2.4 with the same resulting JSON, within limits for hostile texts.
 *  The npm package `yaml` only writes here: it follows the YAML specification, go-yaml does not.
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
 * JSON that YAML reads differently or rejects: escapes and characters unknown to YAML, its additional line breaks,
 * colons not directly after their key, tabs in indentation, and keys too long for its scanner.
 */
const otherInYAML =
  /\\[^"\\nrtbf]|[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|"\s+:|^[ \n\r]*\t|"[^"]{900}[^"]*":/;

function isAlsoYAML(text: string): boolean {
  return !otherInYAML.test(text) && !text.includes('\t', text.lastIndexOf('}'));
}

/**
 * The value of a document that is JSON, a hundred times as fast; undefined for other documents and for doubtful cases.
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

/** Whether a document is JSON and takes the fast path. */
export function readsFast(text: string): boolean {
  return allSteps(valueOfJSON(text)) !== undefined;
}

export interface ReadYAML {
  readonly value: unknown;
  /** Repeated keys of a map, of which the last counts: see `repeatedKey`. */
  readonly repeated: readonly string[];
}

/** Maximum number of reported repeated keys. */
const maxRepeated = 100;

/**
 * The JSON value of a client's first document; null if there is none. An integer beyond 64 bits is a NumberLiteral.
 * Throws a DecodeError with the position.
 */
export function readYAML(text: string): ReadYAML {
  return allSteps(readYAMLSteps(text));
}

/** `readYAML`, in steps if the document is JSON. */
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

/** The JSON value of the first document, without repeated keys. Throws a DecodeError with the position. */
export function parseYAML(text: string): unknown {
  const { value, repeated } = readYAML(text);
  if (repeated.length > 0) throw new DecodeError(repeatedKeysError(repeated));
  return value;
}

const separator = '---';

/**
 * The values of all documents of a manifest; null for an empty one. Lines that begin with `---` separate them; only
 * comments may follow on the line. Throws a DecodeError.
 */
export function parseYAMLDocuments(text: string): unknown[] {
  const values: unknown[] = [];
  let lines: string[] = [];
  let linesBefore = 0;
  const end = (): void => {
    if (lines.length > 0) values.push(parseAtLine(lines.join('\n'), linesBefore));
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

/** Adjusts line numbers in messages to the whole text. */
function parseAtLine(text: string, linesBefore: number): unknown {
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

/** JSON characters that the library writes in less than about twenty milliseconds. */
const maxWritten = 64 * 1024;

/**
 * Like `encodeYAML`, but writes large objects as JSON, which is valid YAML: formatting a text that people will not read
 * must not block the server.
 */
export function encodeYAMLFast(object: unknown): Buffer {
  const json = toJSONText(object);
  return json.length > maxWritten ? Buffer.from(`${json}\n`) : encodeYAML(object);
}

const mergeTag = 'tag:yaml.org,2002:merge';

/** Quotes texts so that they are read as texts: the library recognizes other words and numbers than `parseYAML`. */
export function encodeYAML(object: unknown): Buffer {
  const document = new Document(object, {
    version: '1.1',
    aliasDuplicateObjects: false,
    // The key `<<` is a plain text.
    customTags: (tags) => tags.filter((tag) => typeof tag === 'string' || tag.tag !== mergeTag),
  });
  visit(document, {
    Scalar(_, node) {
      if (typeof node.value !== 'string') return;
      const isOdd = oddInYAML.test(node.value) || beginsWithTab.test(node.value);
      if (isOdd || !isPlainText(node.value)) node.type = 'QUOTE_DOUBLE';
    },
  });
  // Characters that need escapes are in quoted texts now.
  return Buffer.from(document.toString({ lineWidth: 0 }).replaceAll(allOddInYAML, escaped));
}

/** Line breaks that the library treats as characters, and characters that YAML lacks. */
const oddInYAML = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/;
/** A tab that would become indentation. */
const beginsWithTab = /^[ \n]*\t/;
const allOddInYAML = new RegExp(oddInYAML, 'g');

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
