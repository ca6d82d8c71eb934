/** Objects in the text of a file. Pure. */
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { parseYAMLDocuments } from '#apimachinery/codec/yaml.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

/** The text is no YAML, whereas other faults may mean that it is no file at all. */
export class MalformedYAML extends CommandError {}

/** Those of lists one by one. Throws a CommandError. @param source Its file, for messages. */
export function objectsIn(content: Buffer, source: string): JsonObject[] {
  let values: unknown[];
  try {
    values = parseYAMLDocuments(content.toString('utf8'));
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new MalformedYAML(`MalformedYAMLError: ${error.message} in File: ${source}`);
  }
  return values.filter((value) => value !== null && value !== undefined).flatMap((value) => unpack(value));
}

function unpack(value: unknown): JsonObject[] {
  if (!isJsonObject(value)) throw new CommandError('missing Resource metadata');
  if (Object.keys(value).length === 0) return [];
  const { apiVersion, kind, items, metadata } = value;
  if (typeof kind === 'string' && kind.endsWith('List')) {
    return (Array.isArray(items) ? items : []).flatMap((item) => unpack(item));
  }
  const name = isJsonObject(metadata) ? metadata['name'] : undefined;
  const generateName = isJsonObject(metadata) ? metadata['generateName'] : undefined;
  if (typeof kind !== 'string' || kind === '') throw new CommandError(`missing kind in object ${textOf(value)}`);
  if (typeof apiVersion !== 'string') throw new CommandError(`missing apiVersion in object ${textOf(value)}`);
  if ((name ?? generateName) === undefined) throw new CommandError(`missing metadata.name in object ${textOf(value)}`);
  return [value];
}

const textOf = (value: JsonObject) => `{${JSON.stringify(value)}}`;
