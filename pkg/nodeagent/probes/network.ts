/** TCP and gRPC checks of a pod's ports. */

import { connect } from 'node:net';
import type { ServiceError } from '@grpc/grpc-js';
import { type CheckResult, failure } from '#nodeagent/probes/check-result.js';

/** Why there is no connection, in the words of release 1.24. */
const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
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
    const dial = `dial tcp ${host.includes(':') ? `[${host}]` : host}:${port}`;
    socket.setTimeout(timeoutMs, () => end(failure(`${dial}: i/o timeout`)));
    socket.once('connect', () => end({ success: true, output: '' }));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end(failure(`${dial}: ${reasons[error.code ?? ''] ?? error.message}`)),
    );
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
