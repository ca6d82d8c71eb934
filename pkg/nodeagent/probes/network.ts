/** TCP and gRPC checks of a pod's ports. */

import { connect } from 'node:net';
import type { ServiceError } from '@grpc/grpc-js';
import { formatDuration } from '#apimachinery/duration.js';
import { type CheckResult, failure } from '#nodeagent/probes/check-result.js';

/** Why there is no connection, in the words of release 1.24. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EADDRNOTAVAIL: 'connect: cannot assign requested address',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
};

/** Success is an accepted connection. Never rejects. */
export function checkTCP(host: string, port: number, timeoutMs: number): Promise<CheckResult> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (result: CheckResult) => {
      socket.destroy();
      resolve(result);
    };
    const dial = `dial tcp ${addressOf({ host, port })}`;
    socket.setTimeout(timeoutMs, () => end(failure(`${dial}: i/o timeout`)));
    socket.once('connect', () => end({ success: true, output: '' }));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end(failure(`${dial}: ${reasons[error.code ?? ''] ?? error.message}`)),
    );
  });
}

export interface HealthTarget {
  readonly host: string;
  readonly port: number;
  /** As the health service calls it; empty: the server as a whole. */
  readonly service: string;
  /** What the probe calls itself. */
  readonly agent: string;
}

/** By number, of the answer's field `status`. */
const healthStatuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

/** `grpc.health.v1.Health/Check` answers SERVING. Messages of release 1.24. Never rejects. */
export async function checkGRPC(target: HealthTarget, timeoutMs: number): Promise<CheckResult> {
  // Few pods have such a probe, and the library takes long to load.
  const { Client, credentials, Metadata, status } = await import('@grpc/grpc-js');
  const address = addressOf(target);
  const client = new Client(address, credentials.createInsecure(), {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_http_proxy': 0,
    'grpc.primary_user_agent': target.agent,
  });
  const deadline = new Date(Date.now() + timeoutMs);
  const limit = formatDuration(timeoutMs);
  /** As Go writes codes: `NotFound`. */
  const codeName = (code: number) =>
    (status[code] ?? '').toLowerCase().replaceAll(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const explain = ({ code, details }: ServiceError): string => {
    if (code === status.DEADLINE_EXCEEDED) return `timeout: health rpc did not complete within ${limit}`;
    if (code === status.UNIMPLEMENTED)
      return `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${details}`;
    return `error: health rpc probe failed: rpc error: code = ${codeName(code)} desc = ${details}`;
  };
  return new Promise<CheckResult>((resolve) => {
    const ask = () =>
      client.makeUnaryRequest(
        '/grpc.health.v1.Health/Check',
        (bytes: Buffer) => bytes,
        (bytes: Buffer) => bytes,
        healthRequest(target.service),
        new Metadata(),
        { deadline },
        (error: ServiceError | null, answer?: Buffer) => {
          if (error) resolve(failure(explain(error)));
          else resolve(healthResult(answer ?? Buffer.alloc(0)));
        },
      );
    client.waitForReady(deadline, (error) => {
      if (error === undefined) ask();
      else {
        const message = `timeout: failed to connect service "${address}" within ${limit}: context deadline exceeded`;
        resolve(failure(message));
      }
    });
  }).finally(() => client.close());
}

/** Its only field is the service's name (1, text). */
function healthRequest(service: string): Buffer {
  const name = Buffer.from(service);
  const length: number[] = [];
  for (let left = name.length; left > 0; left >>>= 7) length.push(left > 127 ? (left & 127) | 128 : left);
  return length.length === 0 ? Buffer.alloc(0) : Buffer.concat([Buffer.from([0x0a, ...length]), name]);
}

/** Its only field is the status (1, enum); 0 is left out. */
function healthResult(answer: Buffer): CheckResult {
  const status = answer[0] === 0x08 ? (answer[1] ?? 0) : 0;
  if (status === 1) return { success: true, output: 'service healthy' };
  return failure(`service unhealthy (responded with "${healthStatuses[status] ?? status}")`);
}

function addressOf({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
