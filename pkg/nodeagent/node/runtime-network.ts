/** Tells the runtime which addresses the node's pods have, from which it makes the configuration of its network. */
import type { Node } from '#api/core/v1/types.gen.js';
import type { Logger } from '#daemon/log/logger.js';
import type { RuntimeService } from '#nodeagent/cri/cri.js';

export interface RuntimeNetworkOptions {
  readonly cri: Pick<RuntimeService, 'updateRuntimeConfig'>;
  readonly log: Logger;
  /** Where the node's object names none; empty: there are none. */
  readonly podCIDR: string;
}

export class RuntimeNetwork {
  readonly #options: RuntimeNetworkOptions;
  #told = '';

  constructor(options: RuntimeNetworkOptions) {
    this.#options = options;
  }

  /**
   * Resolves with whether the runtime was told something. What it was told before it is told again only where `again` says
   * so: one that was started anew may not know it any more. Never rejects; a failure is logged.
   */
  async tell({ spec }: Node, again = false): Promise<boolean> {
    const { cri, log, podCIDR } = this.#options;
    const cidrs = (spec.podCIDRs ?? []).join() || podCIDR;
    if (cidrs === '' || (cidrs === this.#told && !again)) return false;
    try {
      await cri.updateRuntimeConfig(cidrs);
      this.#told = cidrs;
      return true;
    } catch (error) {
      log.warn({ err: error, podCIDR: cidrs }, 'Telling the runtime the addresses of pods failed');
      return false;
    }
  }
}
