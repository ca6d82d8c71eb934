/** Renews the certificates of this machine while its programs run, and reports those that end soon. */
import type { Clock } from '#apimachinery/clock.js';
import { backgroundWork, type ClusterContext, type RunningCluster } from '#cluster/config/cluster-context.js';
import type { Layout } from '#cluster/config/layout.js';
import { updateCertificateCondition } from '#cluster/pki/certificate-condition.js';
import { renewCertificates } from '#cluster/pki/renew-certificates.js';
import { type CertificateReport, endOf, reportCertificates } from '#cluster/pki/report.js';
import { holdCertificates } from '#daemon/certificates/expirations.js';
import type { Logger } from '#daemon/log/logger.js';

export interface CertificateRenewalOptions {
  readonly layout: Layout;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  /** Called after each check with the certificates that end soon: usually none. */
  readonly onChecked: (ending: readonly CertificateReport[]) => Promise<void>;
  /** Interval of checks; a day when absent. */
  readonly everyMs?: number;
  /** Time before its end at which a certificate is renewed; 30 days when absent. */
  readonly renewBeforeMs?: number;
}

const dayMs = 24 * 3600_000;
/** Interval of checks after a failure: an operator may fix the cause meanwhile. */
const retryMs = 600_000;
/** Scrapes read the files at most this often. */
const cacheMs = 60_000;
/** Certificates that end within this are reported: their renewal is overdue. */
const endsSoonMs = 14 * dayMs;

export class CertificateRenewal {
  readonly #options: CertificateRenewalOptions;
  #cache: { readonly reports: readonly CertificateReport[]; readonly atMs: number } | undefined;

  constructor(options: CertificateRenewalOptions) {
    this.#options = options;
  }

  /** Files and the ends of their certificates, in milliseconds since the epoch. Throws the file system's errors. */
  ends(): readonly (readonly [file: string, endMs: number])[] {
    const { clock } = this.#options;
    const cache = this.#cache;
    const reports = cache !== undefined && clock.monotonic() - cache.atMs < cacheMs ? cache.reports : this.#read();
    return reports.flatMap((report) => (report.notAfter === undefined ? [] : [[report.file, endOf(report)]]));
  }

  #read(): readonly CertificateReport[] {
    const { clock, layout } = this.#options;
    const reports = reportCertificates(layout, clock.now());
    this.#cache = { reports, atMs: clock.monotonic() };
    return reports;
  }

  /** Checks until the signal aborts, and finishes a check under way. The random pause spreads the servers of a cluster. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, everyMs = dayMs } = this.#options;
    while (!signal.aborted) {
      const isWell = await this.#check();
      const pauseMs = isWell ? everyMs : Math.min(retryMs, everyMs);
      await clock.sleep(pauseMs * (0.9 + 0.2 * random()), signal);
    }
  }

  /** Resolves with false when a certificate ends soon or a step failed. */
  async #check(): Promise<boolean> {
    const { clock, layout, log, renewBeforeMs, onChecked } = this.#options;
    const now = clock.now();
    let isWell = true;
    try {
      const { failed, renewed } = await renewCertificates(layout, {
        now,
        ...(renewBeforeMs === undefined ? {} : { renewBeforeMs }),
      });
      if (renewed.length > 0) log.info({ files: renewed }, 'renewed certificates');
      for (const [file, problem] of failed) log.error({ file, problem }, 'cannot renew a certificate');
      isWell = failed.size === 0;
    } catch (error) {
      log.error({ err: error }, 'cannot renew certificates; will retry');
      isWell = false;
    }
    try {
      const ending = this.#read().filter((report) => endOf(report) < now + endsSoonMs);
      await onChecked(ending);
      return isWell && ending.length === 0;
    } catch (error) {
      log.error({ err: error }, 'cannot report when certificates end');
      return false;
    }
  }
}

/** Renews certificates in the background, counts them in the metrics and reports them in the node's conditions. */
export function startCertificateRenewal(context: ClusterContext, { client, metrics }: RunningCluster): void {
  const { layout, clock, log, running, settings } = context;
  const [node = ''] = settings.nodes;
  const renewal = new CertificateRenewal({
    layout,
    clock,
    log,
    random: Math.random,
    onChecked: (ending) => updateCertificateCondition({ client, node, clock }, ending),
  });
  holdCertificates(metrics, () => renewal.ends());
  running.push(backgroundWork('renewal of certificates', (signal) => renewal.run(signal)));
}
