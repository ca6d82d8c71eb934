/** YAML as clients write it: the types of YAML 1.1 that JSON has too, aliases only in moderation. */
import {
  type CreateNodeOptions,
  type DocumentOptions,
  type ParseOptions,
  parse,
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
