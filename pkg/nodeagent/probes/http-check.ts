/** HTTP probes, as lenient towards servers as those of release 1.24 (probe/http). */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import { hostPort } from '#apimachinery/net/host-port.js';
import { type CheckResult, failure } from '#nodeagent/probes/check-result.js';

export interface HTTPCheck {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  /** Limit of the whole check, including redirects. */
  readonly timeoutMs: number;
}

const maxBodyBytes = 10 * 1024;
/** Limit of a response's headers. */
const maxHeaderBytes = 2 ** 20;
const maxRedirects = 10;
const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * Any status from 200 to 399 is a success. Follows redirects to the same host; one to another host is a success with a
 * warning, since the other host says nothing about the pod. Never rejects. `agent`: the User-Agent header.
 */
export async function checkHTTP(check: HTTPCheck, agent: string): Promise<CheckResult> {
  const first = `${check.scheme}://${hostPort(check.host, check.port)}${check.path}`;
  const signal = AbortSignal.timeout(check.timeoutMs);
  let headers = headersOf(check, agent);
  let url = first;
  try {
    const { hostname } = new URL(first);
    for (let followed = 0; ; followed++) {
      const response = await send(url, headers, signal);
      const { location = '' } = response.headers;
      const isRedirect = redirects.has(response.statusCode ?? 0) && location !== '';
      const next = isRedirect ? new URL(location, url) : undefined;
      if (next === undefined || next.hostname !== hostname) return await toResult(response);
      response.destroy();
      if (followed + 1 === maxRedirects) return failure(`Get "${next.href}": stopped after ${maxRedirects} redirects`);
      // An absolute redirect names its own host, so drop the probe's Host header.
      if (/^[a-z][a-z0-9+.-]*:|^\/\//i.test(location)) headers = without(headers, 'host');
      url = next.href;
    }
  } catch (error) {
    const text = signal.aborted
      ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
      : (error as Error).message;
    return failure(`Get "${url}": ${text}`);
  }
}

type Headers = Readonly<Record<string, string | string[]>>;

/** The probe's headers replace the defaults; names may repeat. */
function headersOf({ headers }: HTTPCheck, agent: string): Headers {
  const byName: Record<string, string[]> = {};
  for (const { name, value } of headers) {
    const key = name.toLowerCase();
    byName[key] = [...(byName[key] ?? []), value];
  }
  const { host, ...others } = byName;
  // A request has only one Host header.
  return {
    'user-agent': agent,
    accept: '*/*',
    connection: 'close',
    ...others,
    ...(host?.[0] ? { host: host[0] } : {}),
  };
}

function without(headers: Headers, name: string): Headers {
  return Object.fromEntries(Object.entries(headers).filter(([key]) => key !== name));
}

function send(url: string, headers: Headers, signal: AbortSignal): Promise<IncomingMessage> {
  const request = url.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const options = {
      ...{ headers, signal, maxHeaderSize: maxHeaderBytes },
      // An HTTP agent would keep the connection, and costs as much as the request itself.
      ...(url.startsWith('https:') ? { agent: false } : { createConnection: connect }),
      // Accept any certificate, and line feeds without a carriage return.
      ...{ rejectUnauthorized: false, insecureHTTPParser: true },
    };
    const call = request(url, options as Parameters<typeof request>[1]);
    call.once('response', resolve);
    call.on('error', reject);
    call.end();
  });
}

/** Judges by status and the beginning of the body, which may be endless. */
async function toResult(response: IncomingMessage): Promise<CheckResult> {
  const { statusCode = 0 } = response;
  const body = await readBeginning(response);
  if (statusCode < 200 || statusCode >= 400) {
    return { ...failure(`HTTP probe failed with statuscode: ${statusCode}`), statusCode };
  }
  if (statusCode < 300) return { success: true, output: body };
  return { success: true, isWarning: true, output: `Probe terminated redirects, Response body: ${body}` };
}

function readBeginning(response: IncomingMessage): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const end = () => {
      resolve(Buffer.concat(chunks).subarray(0, maxBodyBytes).toString());
      response.destroy();
    };
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= maxBodyBytes) end();
    });
    response.once('end', end);
    // Also for a body that breaks off.
    response.once('error', reject);
  });
}
