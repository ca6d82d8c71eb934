/** Reads the end of a container's log through this server, with the rights of a user. */
import type { Pod } from '#api/core/v1/types.gen.js';
import type { ApiHandler, UserInfo } from '#apiserver/http/exchange.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { readAll } from '#client/rest/response.js';
import { TransportError } from '#http/client/transport-error.js';

export interface LogReader {
  readonly handler: ApiHandler;
  readonly user: UserInfo;
  readonly signal: AbortSignal;
}

/** Lines and bytes at the end of a log. */
const tailLines = '10';
const limitBytes = '20000';

/** Undefined for a user without the right; no lines where the container has not run, or its node does not answer in time. */
export async function readLogTail(
  { handler, user, signal }: LogReader,
  { metadata: { name = '', namespace = '' } }: Pod,
  container: string,
  previous: boolean,
): Promise<readonly string[] | undefined> {
  const query = new URLSearchParams({ container, previous: String(previous), tailLines, limitBytes });
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/log?${query}`;
  const transport = new InProcessTransport({ handler, user });
  try {
    const { status, body } = await transport.request({ method: 'GET', path, headers: { accept: '*/*' }, signal });
    const text = (await readAll(body)).toString('utf8');
    if (status === 403) return undefined;
    return status === 200 ? text.split('\n').filter((line) => line !== '') : [];
  } catch (error) {
    if (error instanceof TransportError) return [];
    throw error;
  } finally {
    await transport.close();
  }
}
