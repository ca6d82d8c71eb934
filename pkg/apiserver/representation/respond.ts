/** Makes responses of objects and errors, in the negotiated form. */

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import { type Encoding, mediaTypeOf } from '#apimachinery/codec/negotiate.js';
import { encodeYAMLFast } from '#apimachinery/codec/yaml.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { internalError, isPathNotFound, type Status, statusOf } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import type { RequestContext } from '#apiserver/http/context.js';
import type { ApiRequest, ApiResponse } from '#apiserver/http/exchange.js';
import { type Negotiated, negotiate, type Transform } from '#apiserver/http/media-type.js';
import type { Codec } from '#apiserver/resources/codec.js';
import { plainText } from '#http/server/exchange.js';
import { statusFromStore } from '#storage/errors.js';

const compress = promisify(gzip);

/** Smaller answers are not worth compressing; 1.24 takes the same bound. */
const gzipThresholdBytes = 128 * 1024;

/** zlib level: 1.24's choice between speed and size. */
const gzipLevel = 4;

const allEncodings: readonly Encoding[] = ['json', 'yaml', 'protobuf'];

export class Responder {
  readonly #dialect: Dialect;
  readonly #codec: Codec;
  /** Names of the built-in groups. */
  readonly #groups: ReadonlySet<string>;

  constructor(dialect: Dialect, codec: Codec) {
    this.#dialect = dialect;
    this.#codec = codec;
    this.#groups = new Set(codec.scheme.resources.map(({ groupName }) => groupName));
  }

  /** The form that the request's headers and query ask for; 406 when there is none. */
  negotiate(
    context: Pick<RequestContext, 'request' | 'info'>,
    transforms: readonly Transform['kind'][] = [],
    formats: readonly Encoding[] = allEncodings,
  ): Negotiated {
    return negotiate({
      dialect: this.#dialect,
      accept: context.request.headers['accept'],
      formats,
      transforms,
      hasProtobuf: ({ group, version, kind }) => this.#codec.hasProtobuf({ apiVersion: `${group}/${version}`, kind }),
      pretty: context.info.query.get('pretty'),
      userAgent: context.request.headers['user-agent'],
    });
  }

  /** The bytes of `value` in that form. */
  encode(value: object, form: Pick<Negotiated, 'format' | 'pretty'>): Buffer {
    switch (form.format) {
      case 'json':
        return Buffer.from(`${toJSONText(this.#codec.shown(value), form.pretty ? 2 : undefined)}\n`);
      case 'yaml':
        return encodeYAMLFast(this.#codec.shown(value));
      case 'protobuf':
        return this.#codec.encodeProtobuf(value);
    }
  }

  /** An object as the whole answer, compressed when it is big and the client takes that. */
  async object(context: RequestContext, value: object, status = 200, form?: Negotiated): Promise<ApiResponse> {
    const chosen = form ?? this.negotiate(context);
    return this.bytes(context, this.encode(value, chosen), chosen.format, status);
  }

  /** Ready-made bytes of that format as the whole answer. */
  bytes(context: RequestContext, body: Buffer, format: Encoding, status = 200): MaybePromise<ApiResponse> {
    const headers: Record<string, string> = { 'content-type': mediaTypeOf(format, this.#dialect) };
    if (body.length < gzipThresholdBytes || !acceptsGzip(context.request)) return { status, headers, body };
    headers['content-encoding'] = 'gzip';
    headers['vary'] = 'Accept-Encoding';
    return compress(body, { level: gzipLevel }).then((compressed) => ({ status, headers, body: compressed }));
  }

  /**
   * A failure as a Status, in the negotiated encoding or JSON where that is impossible. That a path is not served is a text
   * where no API of the server's own is asked for, as with 1.24.
   */
  failure(context: Pick<RequestContext, 'request' | 'info'> | undefined, error: unknown): ApiResponse {
    if (context !== undefined && isPathNotFound(error) && !this.#isOwn(context.info.path))
      return plainText(404, '404 page not found\n');
    const status = toStatus(error);
    let form: Negotiated = { format: 'json', pretty: false };
    if (context !== undefined) {
      try {
        form = this.negotiate(context);
      } catch {
        // An Accept header that nothing satisfies must not hide the failure itself.
        form = { format: 'json', pretty: false };
      }
    }
    const headers: Record<string, string> = { 'content-type': mediaTypeOf(form.format, this.#dialect) };
    const retryAfter = status.details?.retryAfterSeconds ?? 0;
    if (retryAfter > 0) headers['retry-after'] = String(retryAfter);
    return { status: status.code ?? 500, headers, body: this.encode(status, form) };
  }

  /** Whether a path is below the core group or another built-in one. */
  #isOwn(path: string): boolean {
    const [, root, group = ''] = path.split('/', 3);
    return root === 'api' || (root === 'apis' && this.#groups.has(group));
  }
}

/** The complete Status of whatever was thrown; what is not one of ours is an internal error. */
export function toStatus(error: unknown): Status {
  const status = statusOf(statusFromStore(error)) ?? internalError(error).status;
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', ...status, code: status.code ?? 500 };
}

export function acceptsGzip(request: Pick<ApiRequest, 'headers'>): boolean {
  const header = request.headers['accept-encoding'];
  return header !== undefined && /(^|[\s,])gzip\s*(,|$|;(?!\s*q=0(\.0*)?\s*(,|$)))/.test(header);
}
