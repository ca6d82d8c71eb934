/** Prepares large bodies before handlers decode them, off the event loop where necessary. */
import type { TurnQueue } from '#apimachinery/async/turn-queue.js';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { checkSize } from '#apimachinery/codec/json/size-limit.js';
import { bareMediaType, mediaTypeOf } from '#apimachinery/codec/negotiate.js';
import { readsFast } from '#apimachinery/codec/yaml.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { badRequest } from '#apimachinery/errors/status.js';
import type { YamlReader } from '#apiserver/bodies/yaml-reader.js';
import type { ApiRequest } from '#apiserver/http/exchange.js';

/** Media type of server-side apply; despite the name, programs send JSON. */
const applyMediaType = 'application/apply-patch+yaml';

/** Prefixes of 1.24's messages. */
export const toJSON = 'error converting YAML to JSON: ';
export const undecoded = `error decoding YAML: ${toJSON}`;

/** Smaller documents are decoded by their handlers, in a few milliseconds. */
export const smallBodyBytes = 4 * 1024;
/** Up to this size, documents are tested for fast decoding synchronously. */
const largeBytes = 64 * 1024;
/** Scanning larger bodies takes milliseconds, so decoding gets a separate turn. */
const slowBytes = 256 * 1024;

export interface AheadParser {
  readonly dialect: Dialect;
  readonly yaml: YamlReader;
  readonly turns: TurnQueue;
}

/**
 * Prepares bodies of more than `smallBodyBytes`. Converts large YAML bodies to JSON, which is valid YAML. Resolves when the
 * body is ready; undefined if there is nothing to do. Throws 413 for bodies of too many parts, 400 for an invalid apply
 * configuration, and the errors of `YamlReader`.
 */
export function parseAhead(request: ApiRequest, user: string, parser: AheadParser): Promise<void> | undefined {
  const { dialect, turns } = parser;
  const { body } = request;
  const type = bareMediaType(request.headers['content-type']);
  if (type !== applyMediaType && type !== mediaTypeOf('yaml', dialect)) {
    if (type === mediaTypeOf('protobuf', dialect)) return undefined;
    checkSize(body);
    return body.length > slowBytes ? turns.next() : undefined;
  }
  if (body.length <= largeBytes && readsFast(body.toString())) return undefined;
  return read(request, { ...parser, user }, type === applyMediaType);
}

async function read(
  request: ApiRequest,
  { yaml, turns, user }: AheadParser & { readonly user: string },
  apply: boolean,
): Promise<void> {
  try {
    const { json, repeated } = await yaml.read(request.body, user);
    request.body = json;
    request.repeatedKeys = repeated;
    checkSize(request.body);
    await turns.next();
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    if (apply) throw badRequest(`${undecoded}${error.message}`, error);
    request.yamlFault = error;
  }
}
