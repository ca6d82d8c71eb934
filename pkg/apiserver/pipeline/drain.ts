/**
 * The end of a server that tells clients to go elsewhere (1.24, `--shutdown-send-retry-after`): it listens on, refuses new
 * requests with 429, and ends when the requests under way have their responses. Watches and other long-running requests do not
 * count: they end with the server.
 */
import { type Deferred, deferred } from '#apimachinery/async/deferred.js';
import type { Clock } from '#apimachinery/clock.js';
import type { ApiRequest, ApiResponse, PromptHandler } from '#apiserver/http/exchange.js';
import { isLongRunning, requestInfo } from '#apiserver/http/request-info.js';
import { plainText } from '#http/server/exchange.js';

/** Paths that are served to the end. */
const exempt = ['/readyz', '/livez', '/healthz', '/metrics'];

export class Drain {
  /** Start of the user agent of the server's own requests. */
  readonly #ownAgent: string;
  #inFlight = 0;
  #ended: Deferred<void> | undefined;

  /** `name`: the component's. */
  constructor(name: string) {
    this.#ownAgent = `${name}/`;
  }

  /** True from the end of the shutdown delay on. */
  get isEnding(): boolean {
    return this.#ended !== undefined;
  }

  serve(request: ApiRequest, handler: PromptHandler): ReturnType<PromptHandler> {
    if (this.#isExempt(request)) return handler(request);
    if (this.isEnding) return goElsewhere();
    if (isOpenEnded(request)) return handler(request);
    this.#inFlight += 1;
    const leave = () => {
      this.#inFlight -= 1;
      if (this.#inFlight === 0) this.#ended?.resolve();
    };
    const answer = handler(request);
    if (answer instanceof Promise) return answer.finally(leave);
    leave();
    return answer;
  }

  /** Refuses further requests. Resolves when none is under way, or after `limitMs`. */
  async end(clock: Pick<Clock, 'setTimer'>, limitMs: number): Promise<void> {
    this.#ended ??= deferred<void>();
    const { promise, resolve } = this.#ended;
    if (this.#inFlight === 0) resolve();
    const timer = clock.setTimer(resolve, limitMs);
    await promise;
    timer.cancel();
  }

  #isExempt({ url, headers }: ApiRequest): boolean {
    return headers['user-agent']?.startsWith(this.#ownAgent) === true || exempt.some((path) => url.startsWith(path));
  }
}

/** The handler, behind the drain if there is one. */
export function handled(drain: Drain | undefined, handler: PromptHandler): PromptHandler {
  return drain === undefined ? handler : (request) => drain.serve(request, handler);
}

function isOpenEnded(request: ApiRequest): boolean {
  try {
    return isLongRunning(requestInfo(request));
  } catch {
    // The pipeline answers malformed requests.
    return false;
  }
}

function goElsewhere(): ApiResponse {
  const answer = plainText(429, 'The apiserver is shutting down, please try again later.\n');
  return { ...answer, headers: { ...answer.headers, 'retry-after': '5', connection: 'close' } };
}
