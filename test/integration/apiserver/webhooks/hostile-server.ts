/** A webhook server that misbehaves on request. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { realClock } from '#apimachinery/clock.js';
import { createAuthority, issueCertificate } from '#pki/certificate.js';

export const hostileModes = ['hanging', 'slow', 'trickling', 'lying', 'crashing', 'huge', 'deep'] as const;
export type HostileMode = 'good' | (typeof hostileModes)[number];

/** Each is answered by one message. */
export type HostileQuestion = HostileMode | 'cut' | 'report';

export interface HostileSetup {
  readonly cert: string;
  readonly key: string;
}

export interface HostileReport {
  /** Open connections now, and their maximum since the last report. */
  readonly open: number;
  readonly mostOpen: number;
  readonly calls: number;
  /** Of endless answers. */
  readonly sentBytes: number;
}

export interface HostileServer {
  readonly port: number;
  /** For a server that accepts connections and stays silent. */
  readonly silentPort: number;
  readonly caBundle: string;
  /** Resolves once the mode applies to new requests. */
  become(mode: HostileMode): Promise<void>;
  /** Closes all connections at once, but none opened after it has resolved. */
  cut(): Promise<void>;
  report(): Promise<HostileReport>;
  stop(): Promise<void>;
}

export async function startHostileServer(): Promise<HostileServer> {
  const now = realClock.now();
  const authority = await createAuthority({ commonName: 'hostile-ca', now });
  const subject = { commonName: 'hostile', organizations: [] };
  const certificate = await issueCertificate(authority, { subject, usages: ['server'], ips: ['127.0.0.1'], now });
  const workerData: HostileSetup = { cert: certificate.certificate, key: certificate.privateKey };
  const worker = new Worker(new URL('./hostile-worker.js', import.meta.url), { workerData });
  const next = async <T>(): Promise<T> => ((await once(worker, 'message')) as [T])[0];
  /** One at a time: answers come in the order of questions. */
  const ask = <T>(question: HostileQuestion): Promise<T> => {
    const answer = next<T>();
    worker.postMessage(question);
    return answer;
  };
  const ports = await next<{ port: number; silentPort: number }>();
  return {
    ...ports,
    caBundle: Buffer.from(authority.certificate).toString('base64'),
    become: (mode) => ask<void>(mode),
    cut: () => ask<void>('cut'),
    report: () => ask<HostileReport>('report'),
    stop: async () => {
      await worker.terminate();
    },
  };
}
