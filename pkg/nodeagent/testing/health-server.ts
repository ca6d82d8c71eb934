/** A gRPC server with the standard health service, for probes. */
import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import type { Test } from 'tap';

/** Decodes a message whose only field is a string. */
function decodeString(request: Buffer): string {
  let start = 1;
  while ((request[start] ?? 0) > 127) start++;
  return request.toString('utf8', start + 1);
}

/**
 * Listens on a free port of `host` until the test ends, and resolves with the port. `statuses`: by service name, the
 * status to answer, or undefined for no answer.
 */
export async function serveHealth(
  t: Pick<Test, 'teardown'>,
  statuses: Readonly<Record<string, number | undefined>>,
  host = '127.0.0.1',
): Promise<number> {
  const server = new Server();
  const bytes = (value: Buffer) => value;
  const method = {
    path: '/grpc.health.v1.Health/Check',
    ...{ requestStream: false, responseStream: false },
    ...{ requestSerialize: bytes, requestDeserialize: bytes, responseSerialize: bytes, responseDeserialize: bytes },
  };
  const check = (
    { request }: { request: Buffer },
    done: (error: { code: number; details: string } | null, answer?: Buffer) => void,
  ) => {
    const name = decodeString(request);
    const answer = statuses[name];
    if (answer !== undefined) done(null, Buffer.from([0x08, answer]));
    else if (!(name in statuses)) done({ code: status.NOT_FOUND, details: 'unknown service' });
  };
  server.addService({ check: method }, { check });
  t.teardown(() => server.forceShutdown());
  return new Promise((resolve, reject) => {
    const address = `${host.includes(':') ? `[${host}]` : host}:0`;
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
}
