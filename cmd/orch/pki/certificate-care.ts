/**
 * What a machine does for its certificates while its programs run: renews what is due, and says what ends soon all the same.
 */
import type { Clock } from '#apimachinery/clock.js';
import type { Layout } from '#cmd/orch/context/layout.js';
import { renewCertificates } from '#cmd/orch/pki/renewal.js';
import { type CertificateReport, endOf, keptCertificates } from '#cmd/orch/pki/report.js';
import type { Logger } from '#daemon/log/logger.js';

export interface CertificateCareOptions {
  readonly layout: Layout;
  readonly clock: Clock;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Logger;
  /** Told after each look, of what ends soon: of nothing, mostly. */
  readonly tell: (ending: readonly CertificateReport[]) => Promise<void>;
  /** Between looks; a day when absent. */
  readonly everyMs?: number;
  /** What ends sooner than this is renewed; 30 days when absent. */
  readonly renewBeforeMs?: number;
}

const dayMs = 24 * 3600_000;
/** While something is wrong: somebody may be mending it. */
const againMs = 600_000;
/** What is told of files at each scrape is not read more often. */
const freshMs = 60_000;
/** Of this nobody can be told too early: it should have been renewed long before. */
const endsSoonMs = 14 * dayMs;

export class CertificateCare {
  readonly #options: CertificateCareOptions;
  #kept: { readonly reports: readonly CertificateReport[]; readonly atMs: number } | undefined;

  constructor(options: CertificateCareOptions) {
    this.#options = options;
  }

  /** Files and when their certificates end, in milliseconds since the epoch. Throws the file system's errors. */
  ends(): readonly (readonly [file: string, endMs: number])[] {
    const { clock } = this.#options;
    const kept = this.#kept;
    const reports = kept !== undefined && clock.monotonic() - kept.atMs < freshMs ? kept.reports : this.#read();
    return reports.flatMap((report) => (report.notAfter === undefined ? [] : [[report.file, endOf(report)]]));
  }

  #read(): readonly CertificateReport[] {
    const { clock, layout } = this.#options;
    const reports = keptCertificates(layout, clock.now());
    this.#kept = { reports, atMs: clock.monotonic() };
    return reports;
  }

  /** Until the signal aborts; a look that is under way by then is finished. The servers of a cluster do not look at once. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, random, everyMs = dayMs } = this.#options;
    while (!signal.aborted) {
      const isWell = await this.#look();
      const pauseMs = isWell ? everyMs : Math.min(againMs, everyMs);
      await clock.sleep(pauseMs * (0.9 + 0.2 * random()), signal);
    }
  }

  /** Resolves with whether all is well. */
  async #look(): Promise<boolean> {
    const { clock, layout, log, renewBeforeMs, tell } = this.#options;
    const now = clock.now();
    let isWell = true;
    try {
      const { failed, renewed } = await renewCertificates(layout, {
        now,
        ...(renewBeforeMs === undefined ? {} : { renewBeforeMs }),
      });
      if (renewed.length > 0) log.info({ files: renewed }, 'renewed certificates');
      for (const [file, problem] of failed) log.error({ file, problem }, 'a certificate cannot be renewed');
      isWell = failed.size === 0;
    } catch (error) {
      log.error({ err: error }, 'certificates cannot be renewed, trying again later');
      isWell = false;
    }
    try {
      const ending = this.#read().filter((report) => endOf(report) < now + endsSoonMs);
      await tell(ending);
      return isWell && ending.length === 0;
    } catch (error) {
      log.error({ err: error }, 'cannot tell how long certificates last');
      return false;
    }
  }
}
