/** TCP checks of a pod's ports. */
import { connect } from 'node:net';
import { hostPort } from '#apimachinery/net/host-port.js';
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
    const dial = `dial tcp ${hostPort(host, port)}`;
    socket.setTimeout(timeoutMs, () => end(failure(`${dial}: i/o timeout`)));
    socket.once('connect', () => end({ success: true, output: '' }));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end(failure(`${dial}: ${reasons[error.code ?? ''] ?? error.message}`)),
    );
  });
}
