/**
 * The envelope of a Protobuf object: four magic bytes, and a message `Unknown` with its kind. Fields of `Unknown`: 1
 * typeMeta (1 apiVersion, 2 kind), 2 raw, 3 contentEncoding, 4 contentType.
 */
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { Reader } from '#apimachinery/codec/protobuf/reader.js';
import { ReverseWriter, tag, wire } from '#apimachinery/codec/protobuf/writer.js';

export const envelopePrefix: readonly number[] = [0x6b, 0x38, 0x73, 0x00];

const prefixBytes = Buffer.from(envelopePrefix);
const prefixWord = prefixBytes.readUInt32BE(0);
const noBytes: Buffer = Buffer.alloc(0);

export interface Envelope {
  readonly apiVersion: string;
  readonly kind: string;
  /** The object's message, as a view of the input. */
  readonly raw: Buffer;
  /** Empty for Protobuf. */
  readonly contentType: string;
}

/** True for bytes with the prefix of an envelope. */
export function hasEnvelope(bytes: Buffer): boolean {
  return bytes.length >= 4 && bytes.readUInt32BE(0) === prefixWord;
}

function writeText(writer: ReverseWriter, number: number, text: string): void {
  const before = writer.length;
  writer.string(text);
  writer.varint(writer.length - before);
  writer.varint(tag(number, wire.delimited));
}

function writeTypeMeta(writer: ReverseWriter, apiVersion: string, kind: string): void {
  const before = writer.length;
  writeText(writer, 2, kind);
  writeText(writer, 1, apiVersion);
  writer.varint(writer.length - before);
  writer.varint(tag(1, wire.delimited));
  writer.bytes(prefixBytes);
}

/** contentEncoding and contentType, both empty. */
const trailer = Buffer.from([tag(3, wire.delimited), 0, tag(4, wire.delimited), 0]);

/** An enveloped object whose message is written by `write`. */
export function encodeEnvelope(apiVersion: string, kind: string, write: (writer: ReverseWriter) => void): Buffer {
  const writer = new ReverseWriter();
  writer.bytes(trailer);
  const before = writer.length;
  write(writer);
  writer.varint(writer.length - before);
  writer.varint(tag(2, wire.delimited));
  writeTypeMeta(writer, apiVersion, kind);
  return writer.finish();
}

/** The envelope around a message of `size` bytes that is written separately: the bytes before and after it. */
export function envelopeAround(apiVersion: string, kind: string, size: number): { before: Buffer; after: Buffer } {
  const writer = new ReverseWriter();
  writer.varint(size);
  writer.varint(tag(2, wire.delimited));
  writeTypeMeta(writer, apiVersion, kind);
  return { before: writer.finish(), after: trailer };
}

/** Removes the envelope. Throws a DecodeError. */
export function decodeEnvelope(bytes: Buffer): Envelope {
  if (!hasEnvelope(bytes))
    throw new DecodeError('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]');
  const reader = new Reader(bytes, 4);
  const envelope = { apiVersion: '', kind: '', raw: noBytes, contentType: '' };
  while (reader.at < reader.end) {
    const key = reader.uint32();
    const number = key >>> 3;
    if (number < 1 || number > 4) {
      reader.skip(key & 7);
      continue;
    }
    if ((key & 7) !== wire.delimited) throw new DecodeError(`proto: wrong wireType = ${key & 7} for field of Unknown`);
    if (number === 1) {
      const outer = reader.enter();
      while (reader.at < reader.end) {
        const inner = reader.uint32();
        if (inner === tag(1, wire.delimited)) envelope.apiVersion = reader.string();
        else if (inner === tag(2, wire.delimited)) envelope.kind = reader.string();
        else reader.skip(inner & 7);
      }
      reader.leave(outer);
    } else if (number === 2) envelope.raw = reader.bytes();
    else if (number === 3) {
      if (reader.string() !== '') throw new DecodeError('content encodings of Protobuf objects are not supported');
    } else envelope.contentType = reader.string();
  }
  return envelope;
}
