/** Encodes objects and errors as responses, in the negotiated form. */

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import { type Encoding, mediaTypeOf } from '#apimachinery/codec/negotiate.js';
import { encodeYAMLFast } from '#apimachinery/codec/yaml.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { internalError, isPathNotFound, type Status, statusOf } from '#apimachinery/errors/status.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { type Negotiated, negotiate, type Transform } from '#apiserver/http/content-negotiation.js';
import type { ApiRequest, ApiResponse } from '#apiserver/http/exchange.js';
import { PlainFailure } from '#apiserver/http/plain-failure.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import { gzipHeaders, gzipLevel, gzipThresholdBytes } from '#apiserver/representation/streaming.js';
import type { Codec } from '#apiserver/resources/codec.js';
import { plainText } from '#http/server/exchange.js';
import { statusFromStore } from '#storage/errors.js';

const compress = promisify(gzip);

const allEncodings: readonly Encoding[] = ['json', 'yaml', 'protobuf'];

export class Responder {
  readonly #dialect: Dialect;
  readonly #codec: Codec;
  /** Names of the built-in groups. */
  readonly #groups: ReadonlySet<string>;

  readonly #compresses: boolean;

  /** `compresses`: false where the feature gate is off. */
  constructor(dialect: Dialect, codec: Codec, compresses = true) {
    this.#compresses = compresses;
    this.#dialect = dialect;
    this.#codec = codec;
    this.#groups = new Set(codec.scheme.resources.map(({ groupName }) => groupName));
  }

  /** The form that headers and query request; throws 406 if there is none. */
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

  /** Whether to compress a large response for this client. */
  compresses(context: Pick<RequestContext, 'request'>): boolean {
    return this.#compresses && acceptsGzip(context.request);
  }

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

  /** Responds with an object, compressed if it is large and the client accepts gzip. */
  async object(context: RequestContext, value: object, status = 200, form?: Negotiated): Promise<ApiResponse> {
    const chosen = form ?? this.negotiate(context);
    return this.bytes(context, this.encode(value, chosen), chosen.format, status);
  }

  /** Responds with encoded bytes of that format. */
  bytes(context: RequestContext, body: Buffer, format: Encoding, status = 200): MaybePromise<ApiResponse> {
    const headers: Record<string, string> = { 'content-type': mediaTypeOf(format, this.#dialect) };
    if (body.length < gzipThresholdBytes || !this.compresses(context)) return { status, headers, body };
    Object.assign(headers, gzipHeaders);
    return compress(body, { level: gzipLevel }).then((compressed) => ({ status, headers, body: compressed }));
  }

  /**
   * A failure as a Status, in the negotiated encoding or JSON if none fits. As in 1.24, an unserved path outside the server's
   * own APIs gets plain text.
   */
  failure(context: Pick<RequestContext, 'request' | 'info'> | undefined, error: unknown): ApiResponse {
    if (context !== undefined && isPathNotFound(error) && !this.#isOwn(context.info.path))
      return plainText(404, '404 page not found\n');
    if (error instanceof PlainFailure) return plainText(500, error.text);
    const status = toStatus(error);
    let form: Negotiated = { format: 'json', pretty: false };
    if (context !== undefined) {
      try {
        form = this.negotiate(context);
      } catch {
        // An unsatisfiable Accept header must not hide the failure itself.
        form = { format: 'json', pretty: false };
      }
    }
    const headers: Record<string, string> = { 'content-type': mediaTypeOf(form.format, this.#dialect) };
    const retryAfter = status.details?.retryAfterSeconds ?? 0;
    if (retryAfter > 0) headers['retry-after'] = String(retryAfter);
    return { status: status.code ?? 500, headers, body: this.encode(status, form) };
  }

  /** True below the core group or another built-in one. */
  #isOwn(path: string): boolean {
    const [, root, group = ''] = path.split('/', 3);
    return root === 'api' || (root === 'apis' && this.#groups.has(group));
  }
}

/** The complete Status of any error; unexpected errors become internal ones. */
export function toStatus(error: unknown): Status {
  const status = statusOf(statusFromStore(error)) ?? internalError(error).status;
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', ...status, code: status.code ?? 500 };
}

export function acceptsGzip(request: Pick<ApiRequest, 'headers'>): boolean {
  const header = request.headers['accept-encoding'];
  return header !== undefined && /(^|[\s,])gzip\s*(,|$|;(?!\s*q=0(\.0*)?\s*(,|$)))/.test(header);
}
