/** Sends the runtime the addresses of the node's pods, from which it configures its network. */
import type { Node } from '#api/core/v1/types.gen.js';
import type { Logger } from '#daemon/log/logger.js';
import type { RuntimeService } from '#nodeagent/cri/cri.js';

export interface RuntimeNetworkOptions {
  readonly cri: Pick<RuntimeService, 'updateRuntimeConfig'>;
  readonly log: Logger;
  /** Default of the node object's CIDRs; empty: none. */
  readonly podCIDR: string;
}

export class RuntimeNetwork {
  readonly #options: RuntimeNetworkOptions;
  #lastCIDRs = '';

  constructor(options: RuntimeNetworkOptions) {
    this.#options = options;
  }

  /**
   * True if the CIDRs were sent. Repeats the last addresses only with `again`, as after the runtime's restart. Never
   * rejects; failures are logged.
   */
  async sendPodCIDR({ spec }: Node, again = false): Promise<boolean> {
    const { cri, log, podCIDR } = this.#options;
    const cidrs = (spec.podCIDRs ?? []).join() || podCIDR;
    if (cidrs === '' || (cidrs === this.#lastCIDRs && !again)) return false;
    try {
      await cri.updateRuntimeConfig(cidrs);
      this.#lastCIDRs = cidrs;
      return true;
    } catch (error) {
      log.warn({ err: error, podCIDR: cidrs }, 'sending the pod addresses to the runtime failed');
      return false;
    }
  }
}
