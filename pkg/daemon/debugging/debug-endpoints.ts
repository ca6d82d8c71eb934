/**
 * Debugging endpoints of a daemon: `/configz`, `/debug/flags/v`, `/debug/pprof/` and pages of its own. Independent of
 * the server, so every daemon has the same ones.
 */
import { type Profiler, ProfilerBusyError } from '#daemon/debugging/profiler.js';
import type { Verbosity } from '#daemon/log/verbosity.js';

export interface DebugEndpointsOptions {
  /** Serves `/debug/pprof/`; absent: not served. */
  readonly profiler?: Profiler;
  /** Serves `/debug/flags/v`; absent: not served. Control plane daemons serve it only with profiles, as in 1.24. */
  readonly verbosity?: Pick<Verbosity, 'level'>;
  /** The process's command line. */
  readonly argv: readonly string[];
  /** Effective configuration by its name. */
  readonly configz?: Readonly<Record<string, unknown>>;
  /** The daemon's own pages. */
  readonly pages?: DebugPages;
}

/** Content by path. A page may throw a DebugPageError. */
export type DebugPages = Readonly<Record<string, (request: DebugRequest) => DebugPage | Promise<DebugPage>>>;

/** An error response of a page: status and plain text. */
export class DebugPageError extends Error {
  override readonly name = 'DebugPageError';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export interface DebugPage {
  /** Sent as JSON. */
  readonly data: object;
  /** Sent to clients that prefer plain text. */
  readonly text: () => string;
}

export interface DebugRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The Accept header; empty if absent. */
  readonly accept: string;
  /** Reads the whole body; called only by endpoints that have one. */
  readonly body: () => Promise<string>;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

export interface DebugResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

type Endpoint = (request: DebugRequest) => Promise<DebugResponse>;

const longestProfileSeconds = 300;

export class DebugEndpoints {
  readonly #endpoints: ReadonlyMap<string, Endpoint>;

  constructor(options: DebugEndpointsOptions) {
    const { profiler, argv, configz, verbosity, pages = {} } = options;
    const endpoints = new Map<string, Endpoint>();
    if (configz !== undefined) endpoints.set('/configz', async () => json(configz));
    for (const [path, page] of Object.entries(pages)) {
      endpoints.set(path, async (request) => {
        try {
          const { data, text: plain } = await page(request);
          return prefersText(request.accept) ? text(200, plain()) : json(data);
        } catch (error) {
          if (error instanceof DebugPageError) return text(error.status, `${error.message}\n`);
          throw error;
        }
      });
    }
    if (profiler !== undefined) {
      const profile = (take: (ms: number, signal: AbortSignal) => Promise<Buffer>, name: string, seconds: number) =>
        endpoints.set(`/debug/pprof/${name}`, (request) => profileResponse(request, { take, name, seconds }));
      endpoints.set('/debug/pprof', async () => indexPage());
      profile((ms, signal) => profiler.cpu(ms, signal), 'profile', 30);
      profile((ms, signal) => profiler.heap(ms, signal), 'heap', 5);
      profile((ms, signal) => profiler.allocations(ms, signal), 'allocs', 5);
      endpoints.set('/debug/pprof/cmdline', async () => text(200, argv.join('\0')));
      // pprof asks whether symbols can be looked up; the profiles already contain names.
      endpoints.set('/debug/pprof/symbol', async () => text(200, 'num_symbols: 0\n'));
    }
    if (verbosity !== undefined) endpoints.set('/debug/flags/v', (request) => this.#setVerbosity(request, verbosity));
    this.#endpoints = endpoints;
  }

  /** All paths, without trailing slashes. */
  get paths(): readonly string[] {
    return [...this.#endpoints.keys()];
  }

  /** Undefined if the path does not exist. */
  respond(request: DebugRequest): Promise<DebugResponse> | undefined {
    return this.#endpoints.get(request.path.replace(/\/$/, ''))?.(request);
  }

  async #setVerbosity(request: DebugRequest, verbosity: Pick<Verbosity, 'level'>): Promise<DebugResponse> {
    if (request.method !== 'PUT') return text(405, 'unrecognized http method: PUT a number\n');
    const body = (await request.body()).trim();
    if (!/^-?\d{1,9}$/.test(body)) return text(400, `failed set verbosity ${JSON.stringify(body)}: not a number\n`);
    verbosity.level = Number(body);
    return text(200, `successfully set verbosity to ${body}\n`);
  }
}

interface Taking {
  readonly take: (durationMs: number, signal: AbortSignal) => Promise<Buffer>;
  readonly name: string;
  /** Default duration. */
  readonly seconds: number;
}

async function profileResponse({ query, signal }: DebugRequest, taking: Taking): Promise<DebugResponse> {
  const seconds = Number(query.get('seconds') ?? taking.seconds);
  if (!(seconds > 0 && seconds <= longestProfileSeconds)) {
    return text(400, `seconds must be above 0 and at most ${longestProfileSeconds}\n`);
  }
  try {
    const body = await taking.take(seconds * 1000, signal);
    const disposition = `attachment; filename="${taking.name}"`;
    return { status: 200, headers: headers('application/octet-stream', disposition), body };
  } catch (error) {
    if (error instanceof ProfilerBusyError) return text(500, `Could not enable profiling: ${error.message}\n`);
    throw error;
  }
}

const rows = [
  ['profile?seconds=30', 'profile', 'CPU profile of the requested number of seconds'],
  ['heap?seconds=5', 'heap', 'memory that was allocated while the profile was taken and is still in use'],
  ['allocs?seconds=5', 'allocs', 'memory that was allocated while the profile was taken'],
  ['cmdline', 'cmdline', 'the command line of the process'],
  ['symbol', 'symbol', 'symbol lookup; not needed, because profiles contain names'],
] as const;

function indexPage(): DebugResponse {
  const items = rows.map(
    ([link, name, meaning]) => `<li><a href="/debug/pprof/${link}">${name}</a>: ${meaning}</li>\n`,
  );
  const page = `<!DOCTYPE html>\n<html><head><title>/debug/pprof/</title></head><body>\n<h1>/debug/pprof/</h1>
<p>Profiles in pprof format, for <code>go tool pprof</code> and speedscope.</p>\n<ul>\n${items.join('')}</ul>\n</body></html>\n`;
  return { status: 200, headers: headers('text/html; charset=utf-8'), body: Buffer.from(page) };
}

/** Whether the header lists plain text, and not after JSON. */
function prefersText(accept: string): boolean {
  const [plain, data] = [accept.indexOf('text/plain'), accept.indexOf('application/json')];
  return plain >= 0 && (data < 0 || plain < data);
}

function text(status: number, body: string): DebugResponse {
  return { status, headers: headers('text/plain; charset=utf-8'), body: Buffer.from(body) };
}

function json(value: unknown): DebugResponse {
  return { status: 200, headers: headers('application/json'), body: Buffer.from(JSON.stringify(value)) };
}

function headers(contentType: string, disposition?: string): Record<string, string> {
  return {
    'content-type': contentType,
    'x-content-type-options': 'nosniff',
    ...(disposition === undefined ? {} : { 'content-disposition': disposition }),
  };
}
