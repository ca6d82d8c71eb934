/** YAML as clients write it: the types of YAML 1.1 that JSON has too, aliases only in moderation. */
import {
  type CreateNodeOptions,
  type DocumentOptions,
  type ParseOptions,
  parse,
  type SchemaOptions,
  stringify,
  type Tags,
  type ToJSOptions,
} from 'yaml';
import { DecodeError } from '#apimachinery/codec/decode-error.js';

/** Tags that make anything but JSON values, and numbers to the base of 60 (`12:30`), which stay texts. */
const refused = new Set(['binary', 'omap', 'pairs', 'set', 'timestamp'].map((name) => `tag:yaml.org,2002:${name}`));

const options: ParseOptions & DocumentOptions & SchemaOptions & ToJSOptions & CreateNodeOptions = {
  version: '1.1',
  merge: true,
  uniqueKeys: true,
  // A document that repeats itself through aliases grows without bounds.
  maxAliasCount: 100,
  customTags: (tags: Tags): Tags =>
    tags.filter(
      (tag) => typeof tag === 'string' || (!refused.has(tag.tag) && !('format' in tag && tag.format === 'TIME')),
    ),
};

/** The JSON value of a document. Throws a DecodeError. */
export function parseYAML(text: string): unknown {
  try {
    return parse(text, options);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new DecodeError(`yaml: ${message}`, { cause: error });
  }
}

export function encodeYAML(object: unknown): Buffer {
  return Buffer.from(stringify(object, { version: '1.1', aliasDuplicateObjects: false, lineWidth: 0 }));
}
