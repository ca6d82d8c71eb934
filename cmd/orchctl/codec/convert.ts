/** Converts objects between encodings, without a server. */
import { schemeFor } from '#api/scheme.js';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import type { JsonObject } from '#apimachinery/codec/json/walk.js';
import type { Encoding } from '#apimachinery/codec/negotiate.js';
import { type DecodedObject, ObjectCodec } from '#apimachinery/codec/object-codec.js';
import { decodeEnvelope, hasEnvelope } from '#apimachinery/codec/protobuf/envelope.js';
import { parseYAML } from '#apimachinery/codec/yaml.js';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { badRequest } from '#apimachinery/errors/status.js';
import type { KindInfo } from '#apimachinery/schema/scheme.js';

export interface ConvertOptions {
  /** Absent: detected by the first bytes. */
  readonly from?: Encoding;
  readonly to: Encoding;
  /** Dialect of the objects' group names; absent: either. */
  readonly dialect?: Dialect;
}

export interface Converted {
  readonly bytes: Buffer;
  /** Unknown members, which are dropped. */
  readonly warnings: readonly string[];
}

/** Invalid input; the message names the place. */
export class ConversionError extends Error {
  override readonly name = 'ConversionError';
}

interface ResolvedKind {
  readonly codec: ObjectCodec;
  readonly kind: KindInfo;
}

/**
 * Converts one object, a list or several YAML documents; several objects become a stream of JSON values, YAML documents,
 * or a `List` in Protobuf, which can hold only one object. An etcd value may have its key in the preceding line and a
 * trailing newline. Throws a ConversionError.
 */
export function convert(input: Buffer, options: ConvertOptions): Converted {
  const bytes = withoutKey(input);
  const from = options.from ?? encodingOf(bytes);
  const dialects = options.dialect === undefined ? [orchDialect, kubernetesDialect] : [options.dialect];
  const codecs = dialects.map((dialect) => new ObjectCodec(schemeFor(dialect)));
  const objects = from === 'yaml' ? readDocuments(bytes, codecs) : [readOne(bytes, from, codecs)];
  if (objects.length === 0) throw new ConversionError('the input contains no object');
  const warnings = objects.flatMap(({ decoded, place }) => decoded.warnings.map((text) => `${place}${text}`));
  return { bytes: write(objects, options.to), warnings };
}

function encodingOf(bytes: Buffer): Encoding {
  if (hasEnvelope(bytes)) return 'protobuf';
  return /^\s*\{/.test(bytes.toString('latin1', 0, 4096)) ? 'json' : 'yaml';
}

/** Removes the key, which etcdctl prints first by default. */
function withoutKey(bytes: Buffer): Buffer {
  const end = bytes.indexOf(0x0a);
  if (bytes[0] !== 0x2f || end < 0) return bytes;
  return bytes.subarray(end + 1);
}

interface ReadObject {
  readonly decoded: DecodedObject;
  readonly codec: ObjectCodec;
  /** Prefix of messages: empty, or `document 2: `. */
  readonly place: string;
}

function readOne(bytes: Buffer, encoding: 'json' | 'protobuf', codecs: readonly ObjectCodec[]): ReadObject {
  if (bytes.length === 0) throw new ConversionError('the input contains no object');
  try {
    if (encoding === 'protobuf') return readProtobuf(bytes, codecs);
    const text = bytes.toString('utf8');
    const { codec, kind } = kindOf(peekJSON(text), codecs);
    return {
      decoded: codec.decode(bytes, { encoding, expected: kind, validation: 'Warn' }),
      codec,
      place: '',
    };
  } catch (error) {
    throw new ConversionError(messageOf(error), { cause: error });
  }
}

function readProtobuf(bytes: Buffer, codecs: readonly ObjectCodec[]): ReadObject {
  let place = `Protobuf of ${bytes.length} bytes: `;
  try {
    const { codec, kind } = kindOf(decodeEnvelope(bytes), codecs);
    place = `${kind.apiVersion} ${kind.kind}, ${place}`;
    return { decoded: codec.decode(bytes, { encoding: 'protobuf', expected: kind }), codec, place: '' };
  } catch (error) {
    // Remove a trailing newline after the value.
    if (bytes.at(-1) === 0x0a) return readProtobuf(bytes.subarray(0, -1), codecs);
    throw new DecodeError(`${place}${messageOf(error)}`, { cause: error });
  }
}

function peekJSON(text: string): Partial<JsonObject> {
  try {
    const value: unknown = parseJSONText(text);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject;
  } catch (error) {
    throw new DecodeError(`json: ${messageOf(error)}`, { cause: error });
  }
  throw new DecodeError('json: expected an object');
}

function readDocuments(bytes: Buffer, codecs: readonly ObjectCodec[]): ReadObject[] {
  const documents = splitDocuments(bytes.toString('utf8'));
  const objects: ReadObject[] = [];
  for (const [index, { text, line }] of documents.entries()) {
    const place = documents.length === 1 ? '' : `document ${index + 1} (line ${line}): `;
    try {
      const value = parseDocument(text, line);
      if (value === null || value === undefined) continue;
      if (typeof value !== 'object' || Array.isArray(value)) throw new DecodeError('yaml: expected an object');
      const { codec, kind } = kindOf(value as JsonObject, codecs);
      objects.push({ decoded: codec.decodeValue(value, { expected: kind, validation: 'Warn' }), codec, place });
    } catch (error) {
      throw new ConversionError(`${place}${messageOf(error)}`, { cause: error });
    }
  }
  return objects;
}

function parseDocument(text: string, line: number): unknown {
  try {
    return parseYAML(text);
  } catch (error) {
    // Parse again with as many lines in front, so that the error names the line of the input.
    if (line > 1) return parseYAML('\n'.repeat(line - 1) + text);
    throw error;
  }
}

/** The codec and declaration of the kind. Throws 400 BadRequest for an unknown kind. */
function kindOf(object: { apiVersion?: unknown; kind?: unknown }, codecs: readonly ObjectCodec[]): ResolvedKind {
  const { apiVersion, kind: name } = object;
  if (typeof name !== 'string' || name === '') throw badRequest('kind is not set');
  if (typeof apiVersion !== 'string' || apiVersion === '') throw badRequest('apiVersion is not set');
  for (const codec of codecs) {
    const kind = codec.scheme.kind(apiVersion, name);
    if (kind !== undefined) return { codec, kind };
  }
  const names = codecs.map(({ scheme }) => scheme.dialect.name).join(' or ');
  throw badRequest(`no built-in kind ${JSON.stringify(name)} in ${JSON.stringify(apiVersion)} (${names} names)`);
}

function write(objects: readonly ReadObject[], to: Encoding): Buffer {
  if (to === 'protobuf') return writeProtobuf(objects);
  const texts = objects.map(({ decoded, codec }) => codec.encode(decoded.object, decoded.kind, to, { pretty: true }));
  if (to === 'json') return Buffer.concat(texts);
  return Buffer.concat(texts.flatMap((text, index) => (index === 0 ? [text] : [Buffer.from('---\n'), text])));
}

function writeProtobuf(objects: readonly ReadObject[]): Buffer {
  const [first] = objects;
  if (first === undefined) return Buffer.alloc(0);
  const { decoded, codec } = first;
  if (objects.length === 1) return codec.encode(decoded.object, decoded.kind, 'protobuf');
  const list = codec.scheme.kind('v1', 'List');
  if (list === undefined)
    throw new ConversionError('Protobuf can hold only one object, and these kinds have no common List');
  const items = objects.map((object) => object.decoded.object);
  return codec.encode({ metadata: {}, items }, list, 'protobuf');
}

interface DocumentText {
  readonly text: string;
  /** First line in the input, counted from 1. */
  readonly line: number;
}

/**
 * Splits YAML at lines that begin with `---`, which cannot be part of a document (YAML 1.2, 9.1.2), so that messages can
 * name the invalid document. Documents without content are dropped.
 */
export function splitDocuments(text: string): DocumentText[] {
  const documents: DocumentText[] = [];
  let lines: string[] = [];
  let start = 0;
  const finish = (next: number) => {
    if (lines.some((line) => /^\s*[^\s#%]/.test(line))) {
      documents.push({ text: lines.join('\n'), line: start + 1 });
    }
    lines = [];
    start = next;
  };
  for (const [index, line] of text.split('\n').entries()) {
    const marker = /^---(?=[ \t\r]|$)/.test(line);
    if (marker) {
      finish(index);
      // Text after the marker belongs to the document.
      lines.push(line.slice(3));
    } else if (!/^\.\.\.\s*$/.test(line)) lines.push(line);
    else lines.push('');
  }
  finish(0);
  return documents;
}
