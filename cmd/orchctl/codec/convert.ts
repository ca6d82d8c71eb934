/** Objects from one encoding into another, without a server. */
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
  /** Absent: told by the first bytes. */
  readonly from?: Encoding;
  readonly to: Encoding;
  /** The names that the objects use; absent: of either dialect. */
  readonly dialect?: Dialect;
}

export interface Converted {
  readonly bytes: Buffer;
  /** Members that no field describes, which are left out. */
  readonly warnings: readonly string[];
}

/** Input that cannot be read; the message names the place. */
export class ConversionError extends Error {
  override readonly name = 'ConversionError';
}

interface Known {
  readonly codec: ObjectCodec;
  readonly kind: KindInfo;
}

/**
 * Reads one object, a list or several YAML documents and writes them again: several as a stream of JSON values, as YAML
 * documents, or as one `List` in Protobuf, which has no other way to hold them. A value of etcd may still have its key in
 * the line before it and a line's end behind it. Throws a ConversionError.
 */
export function convert(input: Buffer, options: ConvertOptions): Converted {
  const bytes = withoutKey(input);
  const from = options.from ?? encodingOf(bytes);
  const dialects = options.dialect === undefined ? [orchDialect, kubernetesDialect] : [options.dialect];
  const codecs = dialects.map((dialect) => new ObjectCodec(schemeFor(dialect)));
  const objects = from === 'yaml' ? readDocuments(bytes, codecs) : [readOne(bytes, from, codecs)];
  if (objects.length === 0) throw new ConversionError('there is no object in the input');
  const warnings = objects.flatMap(({ decoded, place }) => decoded.warnings.map((text) => `${place}${text}`));
  return { bytes: write(objects, options.to), warnings };
}

function encodingOf(bytes: Buffer): Encoding {
  if (hasEnvelope(bytes)) return 'protobuf';
  return /^\s*\{/.test(bytes.toString('latin1', 0, 4096)) ? 'json' : 'yaml';
}

/** etcd's own client prints the key first unless told not to. */
function withoutKey(bytes: Buffer): Buffer {
  const end = bytes.indexOf(0x0a);
  if (bytes[0] !== 0x2f || end < 0) return bytes;
  return bytes.subarray(end + 1);
}

interface ReadObject {
  readonly decoded: DecodedObject;
  readonly codec: ObjectCodec;
  /** For messages: empty, or `document 2: `. */
  readonly place: string;
}

function readOne(bytes: Buffer, encoding: 'json' | 'protobuf', codecs: readonly ObjectCodec[]): ReadObject {
  if (bytes.length === 0) throw new ConversionError('there is no object in the input');
  try {
    if (encoding === 'protobuf') return readProtobuf(bytes, codecs);
    const text = bytes.toString('utf8');
    const { codec, kind } = known(peekJSON(text), codecs);
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
    const { codec, kind } = known(decodeEnvelope(bytes), codecs);
    place = `${kind.apiVersion} ${kind.kind}, ${place}`;
    return { decoded: codec.decode(bytes, { encoding: 'protobuf', expected: kind }), codec, place: '' };
  } catch (error) {
    // A line's end behind the value is no part of it.
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
  throw new DecodeError('json: an object is expected');
}

function readDocuments(bytes: Buffer, codecs: readonly ObjectCodec[]): ReadObject[] {
  const documents = splitDocuments(bytes.toString('utf8'));
  const objects: ReadObject[] = [];
  for (const [index, { text, line }] of documents.entries()) {
    const place = documents.length === 1 ? '' : `document ${index + 1} (line ${line}): `;
    try {
      const value = parseDocument(text, line);
      if (value === null || value === undefined) continue;
      if (typeof value !== 'object' || Array.isArray(value)) throw new DecodeError('yaml: an object is expected');
      const { codec, kind } = known(value as JsonObject, codecs);
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
    // Once more, behind as many lines as stand before it: then the parser names the line of the input.
    if (line > 1) return parseYAML('\n'.repeat(line - 1) + text);
    throw error;
  }
}

/** Who knows the kind. Throws 400 BadRequest when nobody does. */
function known(object: { apiVersion?: unknown; kind?: unknown }, codecs: readonly ObjectCodec[]): Known {
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
  if (list === undefined) throw new ConversionError('Protobuf holds one object only, and there is no kind for several');
  const items = objects.map((object) => object.decoded.object);
  return codec.encode({ metadata: {}, items }, list, 'protobuf');
}

interface DocumentText {
  readonly text: string;
  /** Line of the input in which it begins, from 1. */
  readonly line: number;
}

/**
 * Splits YAML into documents, so that one at fault can be named: at the lines that begin with `---`, which no document
 * can contain (YAML 1.2, 9.1.2). Documents without a line of content are left out.
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
      // What follows the marker in its line belongs to the document.
      lines.push(line.slice(3));
    } else if (!/^\.\.\.\s*$/.test(line)) lines.push(line);
    else lines.push('');
  }
  finish(0);
  return documents;
}
