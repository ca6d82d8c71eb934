/** When the certificates end that a daemon works with, as one metric of all of them. */
import { Gauge, type Registry } from 'prom-client';
import { certificatesInPem } from '#apimachinery/asn1/pem.js';
import type { MaybePromise } from '#apimachinery/async/steps.js';
import { certificateTimes } from '#pki/x509.js';

/** What a daemon serves with, by which it is known to others, and whom it believes. */
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

/** Roles with the ends of their certificates, in milliseconds since the epoch. */
type CertificateEnds = Iterable<readonly [role: string, endMs: number]>;
/** Asked at each scrape. */
type EndsSource = () => MaybePromise<CertificateEnds>;

const name = 'certificate_expiration_timestamp_seconds';

class ExpirationGauge extends Gauge<'role'> {
  readonly sources: EndsSource[] = [];
}

/**
 * From now on the metric tells when this certificate ends.
 * @param current PEM, or nothing while there is none: what the next connection will use, which files may say. The same text
 * is not parsed again.
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

/** None of a certificate that cannot be read: whoever uses it says so. */
async function endsOf(source: EndsSource): Promise<CertificateEnds> {
  try {
    return await source();
  } catch {
    return [];
  }
}

/** A certificate's own, which comes before those of its issuers; of a bundle when nobody in it is believed any more. */
function endOf(pem: string, bundle: boolean): number | undefined {
  const ends = certificatesInPem(pem).map((der) => certificateTimes(der).notAfter);
  return bundle && ends.length > 0 ? Math.max(...ends) : ends[0];
}
