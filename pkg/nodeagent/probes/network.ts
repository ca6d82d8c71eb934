/** HTTP, TCP and gRPC checks of a pod's ports. */

import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import type { ServiceError } from '@grpc/grpc-js';

export interface CheckResult {
  readonly success: boolean;
  /** For events; at most a few hundred characters matter. */
  readonly output: string;
}

export interface HTTPCheck {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly timeoutMs: number;
}

const maxBodyBytes = 10 * 1024;

const failure = (output: string): CheckResult => ({ success: false, output });

/** Success is any status from 200 to 399. Never rejects. @param agent Of the User-Agent header. */
export function checkHTTP(check: HTTPCheck, agent: string): Promise<CheckResult> {
  const url = `${check.scheme}://${check.host.includes(':') ? `[${check.host}]` : check.host}:${check.port}${check.path}`;
  const headers: Record<string, string> = { 'User-Agent': agent, Accept: '*/*', Connection: 'close' };
  for (const { name, value } of check.headers) headers[name] = value;
  const send = check.scheme === 'https' ? httpsRequest : httpRequest;
  return new Promise((resolve) => {
    let call: ReturnType<typeof httpRequest>;
    try {
      const signal = AbortSignal.timeout(check.timeoutMs);
      // Containers' certificates are their own business, as in 1.24.
      call = send(url, { agent: false, headers, signal, rejectUnauthorized: false } as Parameters<typeof send>[1]);
    } catch (error) {
      resolve(failure((error as Error).message));
      return;
    }
    call.on('response', (response) => {
      let body = '';
      const judge = () => {
        const { statusCode = 0 } = response;
        const success = statusCode >= 200 && statusCode < 400;
        resolve(success ? { success, output: body } : failure(`HTTP probe failed with statuscode: ${statusCode}`));
      };
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
        if (body.length < maxBodyBytes) return;
        // A body without end is no reason to wait for it.
        body = body.slice(0, maxBodyBytes);
        judge();
        response.destroy();
      });
      response.on('error', (error) => resolve(failure(error.message)));
      response.on('end', judge);
    });
    call.on('error', (error) => {
      const text =
        error.name === 'AbortError' || error.name === 'TimeoutError'
          ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
          : error.message;
      resolve(failure(`Get "${url}": ${text}`));
    });
    call.end();
  });
}

/** Success is an accepted connection. Never rejects. */
export function checkTCP(host: string, port: number, timeoutMs: number): Promise<CheckResult> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (result: CheckResult) => {
      socket.destroy();
      resolve(result);
    };
    socket.setTimeout(timeoutMs, () => end(failure(`dial tcp ${host}:${port}: i/o timeout`)));
    socket.once('connect', () => end({ success: true, output: '' }));
    socket.once('error', (error) => end(failure(`dial tcp ${host}:${port}: ${error.message}`)));
  });
}

/** `grpc.health.v1.Health/Check` answers SERVING. Never rejects. */
export async function checkGRPC(
  target: { host: string; port: number; service: string },
  timeoutMs: number,
): Promise<CheckResult> {
  // Few pods have such a probe, and the library takes long to load.
  const { Client, credentials, Metadata } = await import('@grpc/grpc-js');
  const client = new Client(`${target.host}:${target.port}`, credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_http_proxy': 0,
  });
  // Both messages have one field: the service's name (1, text), and the status (1, enum; 1 is SERVING).
  const name = Buffer.from(target.service);
  const body = name.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a, name.length]), name]);
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      '/grpc.health.v1.Health/Check',
      (bytes: Buffer) => bytes,
      (bytes: Buffer) => bytes,
      body,
      new Metadata(),
      { deadline: new Date(Date.now() + timeoutMs) },
      (error: ServiceError | null, answer?: Buffer) => {
        client.close();
        if (error) resolve(failure(`error: ${error.details}`));
        else if (answer?.[0] === 0x08 && answer[1] === 1) resolve({ success: true, output: '' });
        else resolve(failure('service unhealthy'));
      },
    );
  });
}
