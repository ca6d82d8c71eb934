/**
 * Makes the address of the API's own Service reachable from the pods of this machine, whether a service proxy runs or not.
 * While the cluster runs, a rule in the kernel redirects the address to the API server's port at the gateway of the pod.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { ClusterSettings } from '#cluster/config/settings.js';
import { firstServiceAddress, primaryRange } from '#cluster/machine/network.js';
import type { Logger } from '#daemon/log/logger.js';

const run = promisify(execFile);

/** Exit codes of iptables. */
const noSuchRule = 1;
const resourceProblem = 4;
const maxAttempts = 10;

export interface ServiceAddressOptions {
  /** The Service's address: `10.96.0.1`. */
  readonly serviceIp: string;
  readonly targetPort: number;
  /** Range of this machine's pods. */
  readonly podRange: string;
}

/** The rule of a cluster with these settings. Throws RangeError for malformed ranges. */
export function serviceAddressOf({ serviceRange, podRange, apiPort }: ClusterSettings): ServiceAddress {
  return new ServiceAddress({
    serviceIp: firstServiceAddress(primaryRange(serviceRange)),
    targetPort: apiPort,
    podRange: primaryRange(podRange),
  });
}

class ServiceAddress {
  readonly name = 'service address';
  readonly #options: ServiceAddressOptions;

  constructor(options: ServiceAddressOptions) {
    this.#options = options;
  }

  /** Adds the rule, and logs a failure, such as missing rights. */
  async open(log: Logger): Promise<void> {
    try {
      if (!(await this.#exists())) await this.#iptables('--append');
    } catch (error) {
      log.warn({ err: error }, 'pods cannot reach the API server at its service address');
    }
  }

  /** Keeps the rule for running pods. */
  async leave(): Promise<void> {}

  /** Removes the rule, also those of earlier runs. Rejects when it cannot. */
  async close(): Promise<void> {
    while (await this.#act('--delete'));
  }

  #exists(): Promise<boolean> {
    return this.#act('--check');
  }

  /** False when there is no such rule. */
  async #act(action: '--check' | '--delete'): Promise<boolean> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#iptables(action);
        return true;
      } catch (error) {
        const code = error instanceof Error && 'code' in error ? error.code : undefined;
        // Without iptables there is no rule either.
        if (code === noSuchRule || code === 'ENOENT') return false;
        // Another program has changed the kernel's tables at the same moment.
        if (code !== resourceProblem || attempt === maxAttempts) throw error;
      }
    }
  }

  async #iptables(action: string): Promise<void> {
    const { serviceIp, targetPort, podRange } = this.#options;
    await run('iptables', [
      '--wait',
      '--table',
      'nat',
      action,
      'PREROUTING',
      '--source',
      podRange,
      '--destination',
      `${serviceIp}/32`,
      '--protocol',
      'tcp',
      '--dport',
      '443',
      '--jump',
      'REDIRECT',
      '--to-ports',
      String(targetPort),
    ]);
  }
}
