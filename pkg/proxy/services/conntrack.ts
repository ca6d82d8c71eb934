/**
 * Deletes stale conntrack entries. Connectionless flows follow their first packet: when an endpoint disappears, or the
 * first one appears, the kernel must forget them.
 */
import type { Logger } from '#daemon/log/logger.js';
import { ProgramError, type RunWithInput } from '#proxy/program/run-program.js';
import type { Frontend } from '#proxy/services/routes.js';

/** Arguments of conntrack(8) for the flows that a change makes stale. Pure. */
export function staleFlows(before: readonly Frontend[], after: readonly Frontend[]): string[][] {
  const now = new Map(after.map((frontend) => [placeOf(frontend), frontend]));
  const flows: string[][] = [];
  for (const frontend of before) {
    const { protocol, targets } = frontend;
    if (protocol === 'TCP') continue;
    const kept = now.get(placeOf(frontend));
    const remaining = new Set(kept?.targets ?? []);
    const gone = new Set(targets.filter((target) => !remaining.has(target)).map(addressOf));
    for (const address of gone) flows.push([...flowsTo(frontend), '--dst-nat', address]);
  }
  const old = new Map(before.map((frontend) => [placeOf(frontend), frontend]));
  for (const frontend of after) {
    // Such packets were rejected or not translated before.
    const had = old.get(placeOf(frontend))?.targets.length ?? 0;
    if (frontend.protocol !== 'TCP' && had === 0 && frontend.targets.length > 0) flows.push(flowsTo(frontend));
  }
  return flows;
}

function placeOf({ address = '', family, port, protocol }: Frontend): string {
  return `${family} ${protocol} ${address} ${port}`;
}

function addressOf(target: string): string {
  return target.split(' ')[0] ?? '';
}

function flowsTo({ address, family, port, protocol }: Frontend): string[] {
  const to = address === undefined ? [] : ['--orig-dst', address];
  return ['--family', family.toLowerCase(), '--proto', protocol.toLowerCase(), ...to, '--dport', String(port)];
}

/** conntrack's message when nothing matched. */
const nothingDeleted = /0 flow entries have been deleted/;

export class Conntrack {
  readonly #run: RunWithInput;
  readonly #log: Logger;
  #isMissing = false;
  #work: Promise<void> = Promise.resolve();

  constructor(run: RunWithInput, log: Logger) {
    this.#run = run;
    this.#log = log;
  }

  /** Deletes flows in the background, one by one. Failures are logged: stale flows expire anyway. */
  forget(flows: readonly (readonly string[])[]): void {
    if (flows.length === 0 || this.#isMissing) return;
    this.#work = this.#work.then(() => this.#forget(flows));
  }

  /** Resolves when all requested deletions are done. */
  async idle(): Promise<void> {
    await this.#work;
  }

  async #forget(flows: readonly (readonly string[])[]): Promise<void> {
    for (const flow of flows) {
      if (this.#isMissing) return;
      try {
        await this.#run('conntrack', ['--delete', ...flow]);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
          this.#isMissing = true;
          this.#log.warn(
            'program conntrack is missing (install the package conntrack): UDP clients notice late when an endpoint is gone',
          );
        } else if (!(error instanceof ProgramError && nothingDeleted.test(error.message))) {
          this.#log.warn({ err: error, flow }, 'cannot delete stale conntrack flows');
        }
      }
    }
  }
}
