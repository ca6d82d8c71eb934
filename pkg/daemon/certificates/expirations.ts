/** One metric with the expiration times of all certificates that a daemon uses. */
import { Gauge, type Registry } from 'prom-client';
import { certificatesInPem } from '#apimachinery/asn1/pem.js';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import { certificateTimes } from '#pki/x509.js';

/** What the certificate or bundle is used for. */
const roles = {
  serving: 'certificate',
  client: 'certificate',
  'etcd-client': 'certificate',
  'node-client': 'certificate',
  'proxy-client': 'certificate',
  'client-authority': 'bundle',
  'front-proxy-authority': 'bundle',
  'etcd-authority': 'bundle',
} as const;

export type CertificateRole = keyof typeof roles;

/** Roles and the expiration times of their certificates, in milliseconds since the epoch. */
type CertificateEnds = Iterable<readonly [role: string, endMs: number]>;
/** Called at each scrape. */
type EndsSource = () => MaybePromise<CertificateEnds>;

const name = 'certificate_expiration_timestamp_seconds';

class ExpirationGauge extends Gauge<'role'> {
  readonly sources: EndsSource[] = [];
}

/**
 * Adds a certificate to the expiration metric.
 * @param current PEM that the next connection uses; undefined while there is none. The same object is not parsed again.
 */
export function holdCertificate(
  registry: Registry | undefined,
  role: CertificateRole,
  current: () => MaybePromise<Buffer | string | undefined>,
): void {
  let last: { readonly pem: Buffer | string; readonly endMs: number | undefined } | undefined;
  const bundle = roles[role] === 'bundle';
  holdCertificates(registry, async () => {
    const pem = await current();
    if (pem === undefined) return [];
    if (last?.pem !== pem) last = { pem, endMs: endOf(pem.toString(), bundle) };
    return last.endMs === undefined ? [] : [[role, last.endMs]];
  });
}

/** The same for any number of certificates. */
export function holdCertificates(registry: Registry | undefined, ends: EndsSource): void {
  if (registry === undefined) return;
  const existing = registry.getSingleMetric(name);
  const metric = existing instanceof ExpirationGauge ? existing : newGauge(registry);
  metric.sources.push(ends);
}

function newGauge(registry: Registry): ExpirationGauge {
  return new ExpirationGauge({
    name,
    help: 'When the certificate ends that is used in this role, in seconds since 1970: the last one of a bundle of authorities, the first of several in one role.',
    labelNames: ['role'],
    registers: [registry],
    aggregator: 'min',
    async collect() {
      const first = new Map<string, number>();
      for (const source of (this as unknown as ExpirationGauge).sources)
        for (const [role, endMs] of await endsOf(source)) first.set(role, Math.min(endMs, first.get(role) ?? endMs));
      this.reset();
      for (const [role, endMs] of first) this.set({ role }, endMs / 1000);
    },
  });
}

/** Returns nothing for an unreadable certificate: its user reports the error. */
async function endsOf(source: EndsSource): Promise<CertificateEnds> {
  try {
    return await source();
  } catch {
    return [];
  }
}

/** The expiration of a bundle's last valid authority, or else of the first certificate, which precedes its issuers. */
function endOf(pem: string, bundle: boolean): number | undefined {
  const ends = certificatesInPem(pem).map((der) => certificateTimes(der).notAfter);
  return bundle && ends.length > 0 ? Math.max(...ends) : ends[0];
}
