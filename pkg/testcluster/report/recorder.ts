/** Records requests and their responses. */
import type { MaybePromise } from '#apimachinery/async/steps.js';
import type { Clock } from '#apimachinery/clock.js';
import { statusOf } from '#apimachinery/errors/status.js';
import type { ApiResponse } from '#apiserver/http/exchange.js';
import { SourceBody } from '#http/server/body.js';
import { BrokenBody } from '#http/server/broken-body.js';
import type { ObservedRequest } from '#testcluster/feature/feature.js';
import { factsOf, hasPreconditions } from '#testcluster/report/object-facts.js';
import type { RequestRecord } from '#testcluster/report/record.js';
import { RequestLog } from '#testcluster/report/request-log.js';

const maxUserAgent = 128;
/** Reason of a response that never came. */
const connectionLost = 'ConnectionLost';

export class Recorder {
  readonly log = new RequestLog();
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `next` and records its result. */
  async observe(observed: ObservedRequest, next: () => MaybePromise<ApiResponse>): Promise<ApiResponse> {
    try {
      const response = await next();
      const { body, status } = response;
      if (body instanceof BrokenBody) this.#add(observed, { status: 503, reason: connectionLost });
      else {
        const record = this.#add(observed, { status, reason: '', body: Buffer.isBuffer(body) ? body : undefined });
        if (record.verb === 'watch' && body instanceof SourceBody) this.#followWatch(record, observed, body);
      }
      return response;
    } catch (error) {
      const { code = 500, reason = '', details } = statusOf(error) ?? {};
      const retryAfterSeconds = details?.retryAfterSeconds ?? 0;
      this.#add(observed, { status: code, reason: reason === '' ? 'InternalError' : reason, retryAfterSeconds });
      throw error;
    }
  }

  #add(
    { info, request }: ObservedRequest,
    answer: { status: number; reason: string; body?: Buffer | undefined; retryAfterSeconds?: number },
  ): RequestRecord {
    const { verb, group, resource, subresource, namespace, query } = info;
    const isWhole = subresource === '' || subresource === 'status';
    const received = answer.body !== undefined && isWhole && verb !== 'list' ? factsOf(answer.body) : undefined;
    const isSent = verb === 'create' || verb === 'update' || verb === 'patch';
    const sent = isSent ? factsOf(request.body) : undefined;
    const name = info.name === '' ? (received?.name ?? sent?.name ?? '') : info.name;
    const version = query.get('resourceVersion') ?? '';
    const record: RequestRecord = {
      atMs: this.#clock.now(),
      userAgent: (request.headers['user-agent'] ?? '').slice(0, maxUserAgent),
      ...{ verb, subresource, name },
      resource: group === '' ? resource : `${resource}.${group}`,
      // A namespace is not in itself.
      namespace: info.address.inNamespace ? namespace : '',
      status: answer.status,
      reason: answer.reason,
      retryAfterSeconds: answer.retryAfterSeconds ?? 0,
      isFullList: verb === 'list' && version !== '0' && !query.has('limit') && !query.has('continue'),
      fromVersion: version,
      hasPreconditions: verb === 'delete' && hasPreconditions(request.body),
      ...{ sent, received },
    };
    this.log.add(record, subresource === '' && name !== '' ? pathOf(info.path, verb, name) : undefined);
    return record;
  }

  #followWatch(record: RequestRecord, { signal }: ObservedRequest, body: SourceBody): void {
    const { log } = this;
    let isExpired = false;
    body.follow({
      part(bytes) {
        if (bytes.includes('ERROR') && bytes.includes('Expired')) isExpired = true;
      },
      ended() {
        // Clients leave a watch when they read that its version is too old.
        log.watchEnded(record, isExpired ? 'expired' : signal.aborted ? 'client' : 'server');
      },
    });
  }
}

/** The path of the object itself; undefined unless it is created or deleted. */
function pathOf(path: string, verb: string, name: string): string | undefined {
  if (verb === 'delete') return path;
  return verb === 'create' ? `${path.replace(/\/$/, '')}/${encodeURIComponent(name)}` : undefined;
}
