/** Runs one check of a probe or a lifecycle hook against a container. */

import { connect } from 'node:net';
import type { Container, LifecycleHandler, Pod, ProbeHandler } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { IntOrString } from '#apimachinery/intstr.js';
import { hostPort } from '#apimachinery/net/host-port.js';
import type { CRI } from '#nodeagent/cri/cri.js';
import { isCRIError } from '#nodeagent/cri/errors.js';
import { type CheckResult, failure, unknown } from '#nodeagent/probes/check-result.js';
import { checkGRPC } from '#nodeagent/probes/grpc-check.js';
import { checkHTTP } from '#nodeagent/probes/http-check.js';

/** Go's texts of failed connections, as in release 1.24. */
const connectErrors: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EADDRNOTAVAIL: 'connect: cannot assign requested address',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
};

/** Succeeds once the port accepts a connection. Never rejects. */
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
      end(failure(`${dial}: ${connectErrors[error.code ?? ''] ?? error.message}`)),
    );
  });
}

export interface CheckTarget {
  readonly pod: Pod;
  readonly container: Container;
  readonly containerId: string;
  /** Empty while the pod has no address. */
  readonly podIP: string;
}

export interface Checker {
  /** Never rejects: an impossible check has failed. */
  check(handler: ProbeHandler | LifecycleHandler, target: CheckTarget, timeoutMs: number): Promise<CheckResult>;
}

const maxOutput = 10 * 1024;

/** Resolves a port by number or by name in the container. */
function portNumber(port: IntOrString, container: Container): number | undefined {
  const number = typeof port === 'number' ? port : container.ports?.find((p) => p.name === port)?.containerPort;
  const resolved = number ?? (/^\d+$/.test(String(port)) ? Number(port) : undefined);
  return resolved !== undefined && resolved > 0 && resolved < 65_536 ? resolved : undefined;
}

export class RuntimeChecker implements Checker {
  readonly #cri: CRI;
  readonly #agent: string;

  readonly #execTimeouts: boolean;

  /** `agent`: User-Agent of HTTP probes. `execTimeouts`: false where a command that takes too long says nothing (gate ExecProbeTimeout). */
  constructor(cri: CRI, agent: string, execTimeouts = true) {
    this.#execTimeouts = execTimeouts;
    this.#cri = cri;
    this.#agent = agent;
  }

  async check(handler: ProbeHandler | LifecycleHandler, target: CheckTarget, timeoutMs: number): Promise<CheckResult> {
    const fail = (output: string): CheckResult => ({ success: false, output });
    if (handler.exec !== undefined) return this.#exec(handler.exec.command ?? [], target.containerId, timeoutMs);
    const action = handler.httpGet ?? handler.tcpSocket;
    if (action !== undefined) {
      const port = portNumber(action.port, target.container);
      if (port === undefined) return unknown(`couldn't find port: ${action.port}`);
      const host = action.host !== undefined && action.host !== '' ? action.host : target.podIP;
      if (host === '') return fail('the pod has no address');
      if (handler.httpGet === undefined) return checkTCP(host, port, timeoutMs);
      const { path = '/', scheme = 'HTTP', httpHeaders = [] } = handler.httpGet;
      return checkHTTP(
        {
          scheme: scheme === 'HTTPS' ? 'https' : 'http',
          host,
          port,
          path: path.startsWith('/') ? path : `/${path}`,
          headers: httpHeaders,
          timeoutMs,
        },
        this.#agent,
      );
    }
    if ('grpc' in handler && handler.grpc !== undefined) {
      const { port, service = '' } = handler.grpc;
      return checkGRPC({ host: target.podIP, port, service, timeoutMs }, this.#agent);
    }
    return unknown('missing probe handler');
  }

  async #exec(cmd: readonly string[], containerId: string, timeoutMs: number): Promise<CheckResult> {
    try {
      const timeoutSeconds = Math.ceil(timeoutMs / 1000);
      const { stdout, stderr, exitCode } = await this.#cri.execSync({ containerId, cmd, timeoutSeconds });
      const output = Buffer.concat([stdout, stderr]).toString().slice(0, maxOutput);
      if (exitCode === 0) return { success: true, output };
      const ended = `command '${cmd.join(' ')}' exited with ${exitCode}: ${stderr.toString().slice(0, maxOutput)}`;
      return { success: false, output: output !== '' ? output : `exit code ${exitCode}`, error: ended };
    } catch (error) {
      // Errors of the runtime say nothing about the container.
      if (!isCRIError(error, 'DeadlineExceeded')) return unknown(messageOf(error));
      const why = `command ${JSON.stringify(cmd.join(' '))} timed out`;
      return this.#execTimeouts ? { success: false, output: why } : unknown(why);
    }
  }
}
