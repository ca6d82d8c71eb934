/** Pods with probes of every kind, and a process that responds to the network probes. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { Pod, Probe } from '#api/core/v1/types.gen.js';
import type { BenchNode } from '#test/bench/nodeagent/bench-node.js';

export type ProbeKind = 'exec' | 'http' | 'tcp' | 'grpc';
export const probeKinds: readonly ProbeKind[] = ['exec', 'http', 'tcp', 'grpc'];

/** A server on the machine's address, which pods on the host's network share. */
export interface Answering {
  readonly http: number;
  readonly grpc: number;
  close(): void;
}

const identity = (bytes: Buffer): Buffer => bytes;

export async function startAnswering(address: string): Promise<Answering> {
  const web = createServer((_request, response) => response.end('ok')).listen(0, address);
  await once(web, 'listening');
  const health = new Server();
  const check = {
    path: '/grpc.health.v1.Health/Check',
    requestStream: false,
    responseStream: false,
    requestSerialize: identity,
    requestDeserialize: identity,
    responseSerialize: identity,
    responseDeserialize: identity,
  };
  const serving = Buffer.from([0x08, 1]);
  health.addService({ check }, { check: (_: unknown, answer: (e: null, m: Buffer) => void) => answer(null, serving) });
  const grpc = await new Promise<number>((resolve, reject) => {
    health.bindAsync(`${address}:0`, ServerCredentials.createInsecure(), (error, port) =>
      error === null ? resolve(port) : reject(error),
    );
  });
  return {
    http: (web.address() as AddressInfo).port,
    grpc,
    close() {
      web.close();
      web.closeAllConnections();
      health.forceShutdown();
    },
  };
}

function probeOf(kind: ProbeKind, host: string, { http, grpc }: Answering): Probe {
  const often = { periodSeconds: 10 };
  if (kind === 'exec') return { ...often, exec: { command: ['true'] } };
  if (kind === 'http') return { ...often, httpGet: { host, port: http, path: '/healthz' } };
  if (kind === 'tcp') return { ...often, tcpSocket: { host, port: http } };
  return { ...often, grpc: { port: grpc } };
}

/** Pods with two probes each, cycling through the kinds. */
export function probedPods(
  benchNode: BenchNode,
  count: number,
  kinds: readonly ProbeKind[],
  answering: Answering,
): Pod[] {
  return Array.from({ length: count }, (_, i) => {
    const probe = probeOf(kinds[i % kinds.length] ?? 'exec', benchNode.node.address, answering);
    const plain = benchNode.pod(`probed-${i}`, { hostNetwork: true });
    const containers = plain.spec.containers.map((each) => ({ ...each, livenessProbe: probe, readinessProbe: probe }));
    return { ...plain, spec: { ...plain.spec, containers } };
  });
}
